// What recomputation costs and saves in a training step of a GPT, beside torch.utils.checkpoint if it is installed.
// SPDX-License-Identifier: MIT

// The model has 6 layers, width 384, 6 heads, 256 tokens and a batch of 4; it keeps everything, the blocks' inputs alone, or those and
// the products. Times are medians of steps taken in turns; resident memory is what two steps add in a process of their own.
// Run: bench_recompute [steps] [threads], from the project's directory.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <sys/resource.h>

#include <minitorch/autograd/meter.hpp>
#include <minitorch/comm/launch.hpp>
#include <minitorch/core/parallel_for.hpp>
#include <minitorch/nn/gpt.hpp>
#include <minitorch/nn/module.hpp>
#include <minitorch/optim/adam.hpp>

namespace mt = minitorch;

namespace {

struct Mode {
  const char* name;
  mt::Recompute recompute;
  double seconds = 0, flops_again = 0;
  std::int64_t saved = 0, peak = 0, resident = 0;
  std::uint64_t operations_again = 0;
  std::vector<mt::Tensor<float>> gradients = {};
};

class Bench {
 public:
  Bench() : model_(mt::nn::GPTConfig{.vocabulary = 70, .context = 256, .layers = 6, .dim = 384, .heads = 6}), optimizer_(model_) {
    tokens_ = mt::Tensor<std::int64_t>::empty({4, 256});
    for (std::int64_t i = 0; i < tokens_.numel(); ++i) tokens_.mutable_data()[i] = (i * i * 7 + i / 3) % 70;
    for (const auto& parameter : mt::nn::parameters<float>(model_)) parameters_.emplace_back(parameter);
  }

  // Forward and backward; what it saves, holds and computes again.
  void inspect(Mode& mode) {
    model_.config.recompute = mode.recompute;
    optimizer_.zero_grad();
    const auto before = mt::autograd_state;
    const std::int64_t live = mt::live_bytes();
    mt::reset_peak_bytes();
    mt::Tensor<float> loss;
    {
      const mt::SavedMeter meter;
      loss = mt::nn::gpt_loss(model_, tokens_, tokens_);
      mode.saved = meter.bytes(parameters_);
    }
    loss.backward();
    mode.peak = mt::peak_bytes() - live;
    mode.operations_again = mt::autograd_state.recomputed - before.recomputed;
    mode.flops_again = mt::autograd_state.recomputed_flops - before.recomputed_flops;
    for (const auto& parameter : mt::nn::parameters<float>(model_)) mode.gradients.push_back(parameter.grad().clone());
  }

  double step(const Mode& mode) {
    model_.config.recompute = mode.recompute;
    const auto start = std::chrono::steady_clock::now();
    optimizer_.zero_grad();
    mt::nn::gpt_loss(model_, tokens_, tokens_).backward();
    optimizer_.step();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  mt::nn::GPT<float> model_;
  mt::optim::AdamW<float> optimizer_;
  mt::Tensor<std::int64_t> tokens_;
  std::vector<mt::AnyTensor> parameters_;
};

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{1024} * usage.ru_maxrss;
}

// By how much two steps make the resident memory of a fresh process grow.
std::int64_t resident_growth(const Mode& mode, int threads) {
  return mt::launch({.threads = threads}, 1,
                    [&](mt::Communicator&) {
                      Bench bench;
                      const std::int64_t before = peak_resident_bytes();
                      bench.step(mode);
                      bench.step(mode);
                      return peak_resident_bytes() - before;
                    })
      .front();
}

bool same_bits(const mt::Tensor<float>& a, const mt::Tensor<float>& b) { return std::ranges::equal(a.values(), b.values()); }

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 5, threads = argc > 2 ? std::atoi(argv[2]) : 1;
  std::vector<Mode> modes{{"none", mt::Recompute::none}, {"full", mt::Recompute::full}, {"products", mt::Recompute::products}};
  for (Mode& mode : modes) mode.resident = resident_growth(mode, threads);
  mt::set_num_threads(threads);
  Bench bench;
  for (Mode& mode : modes) bench.inspect(mode);
  for (const Mode& mode : modes)
    for (std::size_t i = 0; i < mode.gradients.size(); ++i)
      if (!same_bits(mode.gradients[i], modes[0].gradients[i])) {
        fmt::print("recompute {}: gradient {} differs\n", mode.name, i);
        return 1;
      }
  std::vector<std::vector<double>> times(modes.size());
  for (int s = 0; s < steps; ++s)  // in turns: what else the machine does hits all alike
    for (std::size_t m = 0; m < modes.size(); ++m) times[m].push_back(bench.step(modes[m]));
  for (std::size_t m = 0; m < modes.size(); ++m) {
    std::ranges::sort(times[m]);
    modes[m].seconds = times[m][times[m].size() / 2];
  }
  const auto mib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  fmt::print("{:14} {:>8} {:>6} {:>10} {:>9} {:>13} {:>17} {:>12}\n", "recompute", "step ms", "ratio", "saved MiB", "peak MiB",
             "resident MiB", "operations again", "GFLOP again");
  for (const Mode& mode : modes)
    fmt::print("{:14} {:8.1f} {:6.3f} {:10.1f} {:9.1f} {:13.1f} {:17} {:12.2f}\n", mode.name, 1e3 * mode.seconds,
               mode.seconds / modes[0].seconds, mib(mode.saved), mib(mode.peak), mib(mode.resident), mode.operations_again,
               mode.flops_again / 1e9);
  const std::string script = "benchmarks/recompute_torch.py";
  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    if (std::system((python + " -c 'import torch' 2>/dev/null").c_str()) != 0) continue;
    std::fflush(stdout);
    return std::system(fmt::format("{} {} {} {}", python, script, steps, threads).c_str()) == 0 ? 0 : 1;
  }
  fmt::print("torch: not installed\n");
}
