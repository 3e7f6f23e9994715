// Shows that column-split products are concatenated and row-split ones summed: what tensor parallel layers stand on.
// SPDX-License-Identifier: MIT

// Run: scripts/demo split_products [--column-parts 3] [--row-parts 2] [--json]
// Prints the largest difference between the product in parts and the whole one, for the value and the gradient.

#include <examples/parts/split_products.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  examples::SplitOptions options;
  support::Program program("split_products", "A matrix product in parts: by columns and concatenated, by rows and summed.",
                           {&examples::split_products_part});
  options.flags(program);
  return program.run(argc, argv, [&](support::Report& report) { examples::split_products(report, options); });
}
