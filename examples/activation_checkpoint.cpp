// Shows what checkpointing saves and costs: bytes kept, forwards run again, time and memory, with bitwise equal gradients.
// SPDX-License-Identifier: MIT

// Run: scripts/demo activation_checkpoint [--batch 16] [--large-batch 1024] [--blocks 4] [--width 64] [--inner 256] [--plot FILE] [--json]
// Prints the bytes and entries of a plain and of a checkpointed pass, whether their results are equal, and what each costs.
// With --plot, draws memory and time against depth into an SVG file.

#include <string>

#include <examples/parts/activation_checkpoint.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  examples::CheckpointExample example;
  support::Program program("activation_checkpoint", "Four residual blocks, plain and checkpointed: what is kept, what is run again.",
                           {&examples::activation_checkpoint_part, &examples::depth_part});
  example.flags(program);
  std::string plot;
  program.flag("--plot", plot,
               "Also measure 4 to 64 blocks, and draw memory and time against depth into this SVG file, which is replaced whole");
  return program.run(argc, argv, [&](support::Report& report) {
    if (program.given("--plot")) examples::check_plot(plot);
    examples::activation_checkpoint(report, example);
    if (program.given("--plot")) examples::depth_plot(report, example, plot);
  });
}
