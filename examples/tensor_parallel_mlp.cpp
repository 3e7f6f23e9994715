// Shows an MLP split over 2, 4 and 8 processes, the right way and the wrong way.
// SPDX-License-Identifier: MIT

// Run: scripts/demo tensor_parallel_mlp [--json]
// Prints the largest differences to the unsharded model, on real processes, and exits with 3 if one is out of bounds.

#include <examples/parts/tensor_parallel_mlp.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  support::Program program("tensor_parallel_mlp", "An MLP over several processes: columns, then rows, then one all-reduce.",
                           {&examples::tensor_parallel_mlp_part});
  return program.run(argc, argv, [](support::Report& report) { examples::tensor_parallel_mlp(report); });
}
