// Shows what checkpointing saves and costs: bytes kept, forwards run again, time and memory, with bitwise equal gradients.
// SPDX-License-Identifier: MIT

// Run: scripts/demo activation_checkpoint [--batch 16] [--large-batch 1024] [--blocks 4] [--width 64] [--inner 256] [--json]
// Prints the bytes and entries of a plain and of a checkpointed pass, whether their results are equal, and what each costs.

#include <examples/parts/activation_checkpoint.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  examples::CheckpointExample example;
  support::Program program("activation_checkpoint", "Four residual blocks, plain and checkpointed: what is kept, what is run again.",
                           {&examples::activation_checkpoint_part});
  example.flags(program);
  return program.run(argc, argv, [&](support::Report& report) { examples::activation_checkpoint(report, example); });
}
