// Shows what half and bfloat16 keep of a number, and that a layer called with bfloat16 keeps float parameters and gradients.
// SPDX-License-Identifier: MIT

// Run: scripts/demo mixed_precision [--json]
// Prints three numbers in three types with their bits, and the types and errors of a Linear<float> on bfloat16.

#include <examples/parts/mixed_precision.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  support::Program program("mixed_precision",
                           "Numbers in float, half and bfloat16, and a layer that computes in bfloat16 with float parameters.",
                           {&examples::mixed_precision_part});
  return program.run(argc, argv, [&](support::Report& report) { examples::mixed_precision(report); });
}
