// Shows attention with its heads split over 1, 2 and 4 processes.
// SPDX-License-Identifier: MIT

// Run: scripts/demo tensor_parallel_attention [--json]
// Prints the largest differences to the unsharded model, on real processes, and exits with 3 if one is out of bounds.

#include <examples/parts/tensor_parallel_attention.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  support::Program program("tensor_parallel_attention", "Attention over several processes: each has some of the heads.",
                           {&examples::tensor_parallel_attention_part});
  return program.run(argc, argv, [](support::Report& report) { examples::tensor_parallel_attention(report); });
}
