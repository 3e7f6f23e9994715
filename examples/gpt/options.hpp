// What a run of train_gpt is: its flags, what of them is saved with it, and whether its ranks fit its model.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include <examples/support/program.hpp>
#include <minitorch/io/safetensors.hpp>
#include <minitorch/nn/gpt.hpp>

namespace examples {

namespace mt = minitorch;

struct TrainOptions {
  std::string text, dtype = "float32", recompute = "none", out, model, prompt;
  std::int64_t layers = 2, dim = 192, heads = 4, context = 64, batch = 16, steps = 3200, eval_every = 400, sample = 400, pause = 0;
  std::int64_t seed = 1;
  int ranks = 0, dp = 0, tp = 0, virtual_shards = 0;
  double lr = 3e-3, dropout = 0, seconds = 0;
  bool resume = false, no_progress = false, sequence_parallel = false;

  void flags(support::Program& program);

  // What a resumed run has in common with the one before. The ranks are not among it: any number of them continues it.
  mt::io::Metadata saved() const;
  void restore(const mt::io::Metadata& saved, bool keep_steps);

  // Gives ranks, dp and tp the numbers that were left open, and checks that they divide what they cut. Throws Exit with status 2 and
  // the numbers that would do.
  void settle(const mt::nn::GPTConfig& config);

  // The parts that a batch and a layer are cut into.
  int data_shards() const { return virtual_shards > 0 ? virtual_shards : dp; }
  int tensor_shards() const { return virtual_shards > 0 ? virtual_shards : tp; }

  mt::Recompute recomputed() const;
  // The flags that continue the run.
  std::string continued() const;
};

}  // namespace examples
