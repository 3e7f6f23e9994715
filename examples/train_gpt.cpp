// Trains a character GPT on a text, with progress, validation, samples, checkpoints that resume bit for bit, and a saved model.
// SPDX-License-Identifier: MIT

// Run: scripts/demo train_gpt [--text FILE] [--steps N] ... about two minutes on two cores; --help lists the flags.
// Prints a line at every validation, at the end a sample and where the model is. Ctrl-C saves and leaves with status 130.
// In tests: --text world --layers 1 --dim 32 --context 32 --steps 30 --eval-every 15 --sample 40

#include <examples/train_gpt.hpp>

namespace {

// Where the run lives: what --out says, or the first free runs/gpt-N.
std::filesystem::path directory_of(const examples::TrainOptions& options) {
  if (!options.out.empty()) return options.out;
  if (options.resume) throw support::Exit(2, "--resume needs --out, the directory of the run");
  for (int n = 1;; ++n)
    if (std::filesystem::path path = fmt::format("runs/gpt-{}", n); !std::filesystem::exists(path)) return path;
}

}  // namespace

int main(int argc, char** argv) {
  namespace mt = minitorch;
  examples::TrainOptions options;
  support::Program program("train_gpt", "Trains a character GPT on a text.", {&examples::train_part});
  options.flags(program);
  return program.run(argc, argv, [&](support::Report& report) {
    std::optional<mt::train::RunDirectory> directory;
    std::int64_t from = 0;
    if (options.resume && !std::filesystem::exists(directory_of(options)))
      throw support::Exit(1, fmt::format("--out {}: there is no such run to resume", options.out));
    if (options.resume || options.steps > 0) directory.emplace(directory_of(options));
    if (directory) {
      const auto steps = directory->steps();
      if (options.resume && steps.empty()) throw support::Exit(1, fmt::format("--out {}: holds no checkpoint to resume", options.out));
      if (!options.resume && (!steps.empty() || std::filesystem::exists(directory->path() / "model.safetensors")))
        throw support::Exit(1, fmt::format("--out {}: already holds a run; continue it with --resume or choose another", options.out));
      if (options.resume) {
        from = steps.back();
        options.restore(mt::io::load_safetensors(directory->checkpoint(from) / "optimizer.safetensors").metadata, program.given("--steps"));
      }
    }
    if (options.dim % options.heads != 0)
      throw support::Exit(2, fmt::format("--heads {} must divide --dim {}", options.heads, options.dim));
    if (options.dtype == "float64")
      examples::TrainingRun<double>(options, program.json(), report, std::move(directory), from)();
    else
      examples::TrainingRun<float>(options, program.json(), report, std::move(directory), from)();
  });
}
