// A training step of a GPT over 1, 2 and 4 ranks, data and tensor parallel: what it takes, and what of that is communication.
// SPDX-License-Identifier: MIT

// The model has 6 layers, width 384, 8 heads (which 4 ranks divide) and 256 tokens; a batch of 4 sequences a data parallel rank, of 4 in
// all for tensor parallel ones; float, AdamW, one thread a rank. Three kinds of steps take turns:
//   with      as it is used: buckets are reduced while backward runs
//   late      the same collectives, begun when backward has ended
//   without   nothing is sent: a rank takes its own part for the sum
// late - without is the time of communication, with - without what of it is not hidden, both over `with`. Waiting and moving are what the
// communicators have counted in the steps `with`.
// Run: bench_parallel [steps] [ranks], from the project's directory; beside it PyTorch's DistributedDataParallel over Gloo, if installed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <minitorch/comm/launch.hpp>
#include <minitorch/nn/gpt.hpp>
#include <minitorch/nn/module.hpp>
#include <minitorch/optim/adam.hpp>
#include <minitorch/parallel/data_parallel.hpp>
#include <minitorch/parallel/gpt.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

namespace {

constexpr std::int64_t context = 256, batch = 4;
constexpr double tokens_a_batch = static_cast<double>(batch * context);

mt::nn::GPTConfig config() { return {.vocabulary = 70, .context = context, .layers = 6, .dim = 384, .heads = 8}; }

mt::Tensor<std::int64_t> tokens(std::int64_t sequences) {
  auto all = mt::Tensor<std::int64_t>::empty({sequences, context});
  for (std::int64_t i = 0; i < all.numel(); ++i) all.mutable_data()[i] = (i * i * 7 + i / 3) % 70;
  return all;
}

// A rank among others of whom it hears nothing: what it gives comes back.
class Mute final : public mt::Communicator {
 public:
  explicit Mute(mt::Communicator& real) : Communicator(real.rank(), real.size(), real.deadline()), real_(real) {}
  std::pmr::memory_resource* memory() override { return real_.memory(); }
  int world_rank(int rank) const override { return real_.world_rank(rank); }
  void log(std::string_view line) override { real_.log(line); }
  std::unique_ptr<Communicator> split(int color, int key) override { return real_.split(color, key); }

 protected:
  void run(const mt::comm::Call& call) override {
    if (call.verb == mt::comm::Verb::all_reduce && call.in != call.out)
      std::memcpy(call.out, call.in, static_cast<std::size_t>(call.count * mt::comm::wire_size(call.type)));
  }
  mt::Work start(const mt::comm::Call& call) override {
    run(call);
    return {};
  }
  void run_pair(int, int, const mt::comm::Call&) override {}

 private:
  mt::Communicator& real_;
};

struct Figures {
  double with, late, without;  // seconds a step
  double waiting, moving;      // seconds a step `with`
  double mebibytes;            // most in tensors
  double loss;                 // of the second step
};

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

// Medians of steps that take turns; each is a call of its function.
template <class With, class Late, class Without>
Figures measure(mt::Communicator& comm, int steps, With with, Late late, Without without) {
  std::vector<double> times[3];
  double waiting = 0, moving = 0;
  const auto timed = [&](std::vector<double>& into, auto&& step) {
    comm.barrier();
    const auto began = std::chrono::steady_clock::now();
    step();
    into.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  };
  const auto seconds = [](std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); };
  for (int i = 0; i < steps; ++i) {
    const mt::Counter before = comm.counters().total();
    timed(times[0], with);
    const mt::Counter after = comm.counters().total();
    waiting += seconds(after.waiting - before.waiting) / steps;
    moving += seconds(after.moving - before.moving) / steps;
    timed(times[1], late);
    timed(times[2], without);
  }
  return {median(times[0]), median(times[1]), median(times[2]), waiting, moving, 0, 0};
}

double mebibytes() { return static_cast<double>(mt::peak_bytes()) / (1 << 20); }

Figures data_parallel(mt::Communicator& comm, int steps) {
  mt::manual_seed(1);
  mt::nn::GPT<float> model(config());
  mp::DataParallel<float> parallel(model, comm);
  mt::optim::AdamW<float> adam(model);
  const auto mine = tokens(batch * comm.size()).slice(batch * comm.rank(), batch * (comm.rank() + 1));
  const auto loss = [&] {
    adam.zero_grad();
    return mt::mul(mt::nn::gpt_loss(model, mine, mine), static_cast<float>(tokens_a_batch));
  };
  double last = 0;
  const auto step = [&](bool overlapped) {
    parallel.backward(loss(), tokens_a_batch, overlapped);
    last = parallel.finish().mean();
    adam.step();
  };
  step(true);
  step(true);
  const double second = last, peak = mebibytes();
  Figures figures = measure(
      comm, steps, [&] { step(true); }, [&] { step(false); },
      [&] {
        loss().backward();
        adam.step();
      });
  figures.loss = second;
  figures.mebibytes = peak;
  return figures;
}

Figures tensor_parallel(mt::Communicator& comm, int steps) {
  const auto all = tokens(batch);
  const auto trained = [&](mt::Communicator& over) {
    mt::manual_seed(1);
    struct Training {
      mp::ParallelGPT<float> model;
      mt::optim::AdamW<float> adam;
      explicit Training(mt::Communicator& c) : model(c, config()), adam(model) {}
    };
    return std::make_unique<Training>(over);
  };
  const auto step = [&](auto& training) {
    training.adam.zero_grad();
    const auto loss = training.model.loss(all, all);
    loss.backward();
    training.adam.step();
    return static_cast<double>(loss.item());
  };
  const auto real = trained(comm);
  step(*real);
  const double second = step(*real), peak = mebibytes();
  Mute nobody(comm);
  const auto alone = trained(nobody);
  step(*alone);
  Figures figures = measure(
      comm, steps, [&] { step(*real); }, [&] { step(*real); }, [&] { step(*alone); });
  figures.loss = second;
  figures.mebibytes = peak;
  return figures;
}

// The second loss of one process on the same sequences.
double reference(std::int64_t sequences) {
  mt::manual_seed(1);
  mt::nn::GPT<float> model(config());
  mt::optim::AdamW<float> adam(model);
  const auto all = tokens(sequences);
  double last = 0;
  for (int i = 0; i < 2; ++i) {
    adam.zero_grad();
    const auto loss = mt::nn::gpt_loss(model, all, all);
    loss.backward();
    adam.step();
    last = static_cast<double>(loss.item());
  }
  return last;
}

void print(const char* kind, int ranks, const Figures& f, double tokens_a_step, double one_rank) {
  const double rate = tokens_a_step / f.with;
  const double total = 100 * (f.late - f.without) / f.with, exposed = 100 * (f.with - f.without) / f.with;
  const auto share = [&](double value) { return ranks > 1 ? fmt::format("{:8.1f}", value) : fmt::format("{:>8}", ""); };
  const bool buckets = kind[0] == 'd';
  fmt::print("{:8} {:5} {:9.1f} {:10.0f} {:6.2f} {} {} {} {} {:10.1f}\n", kind, ranks, 1e3 * f.with, rate, rate / one_rank,
             buckets ? share(total) : share(exposed), share(exposed), share(100 * f.waiting / f.with), share(100 * f.moving / f.with),
             f.mebibytes);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 5, most = argc > 2 ? std::atoi(argv[2]) : 4;
  const mt::LaunchOptions options{.threads = 1};
  fmt::print("shares of the step in per cent\n{:8} {:>5} {:>9} {:>10} {:>6} {:>8} {:>8} {:>8} {:>8} {:>10}\n", "parallel", "ranks",
             "step ms", "tokens/s", "x", "comm", "exposed", "waiting", "moving", "MiB a rank");
  double one_rank = 0;
  const auto run = [&](const char* kind, int ranks, std::int64_t sequences, auto function) {
    const auto figures = mt::launch(options, ranks, [&](mt::Communicator& comm) { return function(comm, steps); });
    Figures slowest = figures[0];
    for (const Figures& f : figures) {
      slowest.with = std::max(slowest.with, f.with);
      slowest.late = std::max(slowest.late, f.late);
      slowest.without = std::max(slowest.without, f.without);
      slowest.mebibytes = std::max(slowest.mebibytes, f.mebibytes);
      slowest.waiting = std::max(slowest.waiting, f.waiting);
      slowest.moving = std::max(slowest.moving, f.moving);
    }
    const double expected = reference(sequences);
    if (!(std::abs(slowest.loss - expected) < 1e-4)) {
      fmt::print("{} parallel over {} ranks: the second loss is {} but one process has {}\n", kind, ranks, slowest.loss, expected);
      std::exit(1);
    }
    const double done = static_cast<double>(sequences * context);
    if (one_rank == 0) one_rank = done / slowest.with;
    print(kind, ranks, slowest, done, one_rank);
  };
  for (int ranks = 1; ranks <= most; ranks *= 2) run("data", ranks, batch * ranks, data_parallel);
  for (int ranks = 1; ranks <= most; ranks *= 2) run("tensor", ranks, batch, tensor_parallel);

  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    if (std::system((python + " -c 'import torch.distributed' 2>/dev/null").c_str()) != 0) continue;
    std::fflush(stdout);
    return std::system(fmt::format("{} benchmarks/parallel_torch.py {} {}", python, steps, most).c_str()) == 0 ? 0 : 1;
  }
  fmt::print("torch: not installed\n");
}
