// Trains a character GPT on a text, over any number of ranks, with progress, validation, samples, checkpoints and a saved model.
// SPDX-License-Identifier: MIT

// Run: scripts/demo train_gpt [--text FILE] [--steps N] [--ranks N] ... about two minutes on two cores; --help lists the flags.
// Prints a line at every validation, at the end a sample and where the model is. Ctrl-C saves and leaves with status 130.
// In tests: --text world --layers 1 --dim 32 --context 32 --steps 30 --eval-every 15 --sample 40

#include <examples/gpt/run.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  examples::TrainOptions options;
  support::Program program("train_gpt", "Trains a character GPT on a text.", {&examples::train_part});
  options.flags(program);
  return program.run(argc, argv, [&](support::Report& report) {
    examples::train_gpt(report, options, {.json = program.json(), .keep_steps = program.given("--steps")});
  });
}
