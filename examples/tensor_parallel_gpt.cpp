// Shows a GPT over 1, 2 and 4 processes that says what the whole model says, to 1e-8 bits per character, and counts its all-reduces.
// SPDX-License-Identifier: MIT

// Run: scripts/demo tensor_parallel_gpt [--steps 60] [--json]
// Trains the whole model on a generated text world first; prints bits per character on its validation part.

#include <examples/parts/tensor_parallel_gpt.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  examples::GPTOptions options;
  support::Program program("tensor_parallel_gpt", "A character GPT over several processes, beside the whole one.",
                           {&examples::tensor_parallel_gpt_part});
  options.flags(program);
  return program.run(argc, argv, [&](support::Report& report) { examples::tensor_parallel_gpt(report, options); });
}
