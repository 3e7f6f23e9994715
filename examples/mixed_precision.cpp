// Shows what half and bfloat16 keep of a number, and what they do to the types, a sum, a product, a step and a training run.
// SPDX-License-Identifier: MIT

// Run: scripts/demo mixed_precision [--json]
// Prints three numbers in three types with their bits, the types and errors of a Linear<float> on bfloat16, and what is lost by which
// choice.

#include <examples/parts/mixed_precision.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  support::Program program("mixed_precision",
                           "Numbers in float, half and bfloat16, and a layer that computes in bfloat16 with float parameters.",
                           {&examples::mixed_precision_part, &examples::precision_choices_part});
  return program.run(argc, argv, [&](support::Report& report) {
    examples::mixed_precision(report);
    examples::precision_choices(report);
  });
}
