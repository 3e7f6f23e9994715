// Shows the backward pass of split layers: which gradients need communication, and how often.
// SPDX-License-Identifier: MIT

// Run: scripts/demo tensor_parallel_backward [--json]
// Prints the largest differences to the unsharded model, on real processes, and exits with 3 if one is out of bounds.

#include <examples/parts/tensor_parallel_backward.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  support::Program program("tensor_parallel_backward",
                           "Gradients of split layers: slices without communication, and one all-reduce for the input.",
                           {&examples::tensor_parallel_backward_part});
  return program.run(argc, argv, [](support::Report& report) { examples::tensor_parallel_backward(report); });
}
