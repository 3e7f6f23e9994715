// A training step of a GPT over 1, 2 and 4 ranks, data and tensor parallel: what it takes, and what of that is communication.
// SPDX-License-Identifier: MIT

// The model has 6 layers, width 384, 8 heads (which 4 ranks divide) and 256 tokens; a batch of 4 sequences a data parallel rank, of 4 in
// all for tensor parallel ones; float, AdamW, one thread a rank. Kinds of steps take turns, so that the machine is the same for all:
//   one       one rank trains the plain model alone, the others sleep
//   apart     every rank trains the plain model, and nobody talks: what the machine can give
//   with      as it is used: buckets are reduced while backward runs
//   late      the same collectives, begun when backward has ended
//   without   nothing is sent: a rank takes its own part for the sum
// x is the rate of `with` beside that of `one`, x apart that of `apart`. late - without is the time of communication, with - without what
// of it is not hidden, both over `with`. Waiting (for a rank that still computes) and moving are what the communicators have counted.
// Run: bench_parallel [steps] [ranks], from the project's directory; beside it PyTorch's DistributedDataParallel over Gloo, if installed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include <minitorch/comm/launch.hpp>
#include <minitorch/comm/mesh.hpp>
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
  double one, apart, with, late, without;  // seconds a step
  double waiting, moving;                  // seconds a step `with`
  double mebibytes;                        // most in tensors
  double loss;                             // of the second step
};

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

double mebibytes() { return static_cast<double>(mt::peak_bytes()) / (1 << 20); }

// The plain model in one process.
struct Plain {
  mt::nn::GPT<float> model;
  mt::optim::AdamW<float> adam;
  mt::Tensor<std::int64_t> all;

  explicit Plain(std::int64_t sequences) : model((mt::manual_seed(1), config())), adam(model), all(tokens(sequences)) {}
  double step() {
    adam.zero_grad();
    const auto loss = mt::nn::gpt_loss(model, all, all);
    loss.backward();
    adam.step();
    return static_cast<double>(loss.item());
  }
};

// Medians of steps that take turns; step(how) is one of the training that is measured.
enum class How { with, late, without };

template <class Counters, class Step>
Figures measure(mt::Communicator& comm, int steps, Counters counters, Step step) {
  Figures figures{};
  step(How::with);
  figures.loss = step(How::with);
  figures.mebibytes = mebibytes();
  step(How::without);
  Plain plain(batch);
  plain.step();
  std::vector<double> times[5];
  const auto timed = [&](std::vector<double>& into, auto&& body) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));  // a real-time priority may run for 0.95 s of a second
    comm.barrier();
    const auto began = std::chrono::steady_clock::now();
    body();
    comm.barrier();  // a step is over when all have ended it
    into.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  };
  const auto seconds = [](std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); };
  for (int i = 0; i < steps; ++i) {
    timed(times[0], [&] {
      if (comm.rank() == 0) plain.step();
    });
    timed(times[1], [&] { plain.step(); });
    const mt::Counter before = counters();
    timed(times[2], [&] { step(How::with); });
    const mt::Counter after = counters();
    figures.waiting += seconds(after.waiting - before.waiting) / steps;
    figures.moving += seconds(after.moving - before.moving) / steps;
    timed(times[3], [&] { step(How::late); });
    timed(times[4], [&] { step(How::without); });
  }
  figures.one = median(times[0]);
  figures.apart = median(times[1]);
  figures.with = median(times[2]);
  figures.late = median(times[3]);
  figures.without = median(times[4]);
  return figures;
}

Figures data_parallel(mt::Communicator& comm, int steps) {
  mt::manual_seed(1);
  mt::nn::GPT<float> model(config());
  mp::DataParallel<float> parallel(model, comm);
  mt::optim::AdamW<float> adam(model);
  const auto mine = tokens(batch * comm.size()).slice(batch * comm.rank(), batch * (comm.rank() + 1));
  return measure(
      comm, steps, [&] { return comm.counters().total(); },
      [&](How how) {
        adam.zero_grad();
        const auto loss = mt::mul(mt::nn::gpt_loss(model, mine, mine), static_cast<float>(tokens_a_batch));
        double mean = 0;
        if (how == How::without)
          loss.backward();
        else
          parallel.backward(loss, tokens_a_batch, how == How::with), mean = parallel.finish().mean();
        adam.step();
        return mean;
      });
}

// `data` times the ranks that share a model.
template <int Data>
Figures tensor_parallel(mt::Communicator& comm, int steps) {
  struct Training {
    mp::ParallelGPT<float> model;
    std::optional<mp::DataParallel<float>> parallel;
    mt::optim::AdamW<float> adam;
    Training(mt::Communicator& tensor, mt::Communicator& data) : model((mt::manual_seed(1), tensor), config()), adam(model) {
      if (Data > 1) parallel.emplace(model, data);
    }
  };
  mt::Mesh mesh(comm, {{"data", Data}, {"tensor", comm.size() / Data}});
  mt::Communicator &data = mesh["data"], &tensor = mesh["tensor"];
  Mute no_data(data), no_tensor(tensor);
  Training real(tensor, data);
  std::optional<Training> alone;  // made when the memory of the real one has been measured
  const auto mine = tokens(batch * Data).slice(batch * data.rank(), batch * (data.rank() + 1));
  return measure(
      comm, steps,
      [&] {
        mt::Counter all = tensor.counters().total(), more = data.counters().total();
        all.waiting += more.waiting;
        all.moving += more.moving;
        return all;
      },
      [&](How how) {
        if (how == How::without && !alone) alone.emplace(no_tensor, no_data);
        Training& training = how == How::without ? *alone : real;
        training.adam.zero_grad();
        const auto loss = training.model.loss(mine, mine).local();
        double mean = 0;
        if (Data == 1)
          loss.backward(), mean = static_cast<double>(loss.item());
        else
          training.parallel->backward(mt::mul(loss, static_cast<float>(tokens_a_batch)), tokens_a_batch, how != How::late),
              mean = training.parallel->finish().mean();
        training.adam.step();
        return mean;
      });
}

// The second loss of one process on the same sequences.
double reference(std::int64_t sequences) {
  Plain plain(sequences);
  plain.step();
  return plain.step();
}

void print(const char* kind, int ranks, const Figures& f, std::int64_t sequences) {
  const double rate = static_cast<double>(sequences * context) / f.with, rate_of_one = tokens_a_batch / f.one;
  const auto column = [&](bool is_there, double value, int places) {
    return is_there ? fmt::format(" {:8.{}f}", value, places) : fmt::format(" {:>8}", "");
  };
  const bool many = ranks > 1, buckets = kind[0] == 'd';
  fmt::print("{:8} {:5} {:9.1f} {:10.0f} {:6.2f}", kind, ranks, 1e3 * f.with, rate, rate / rate_of_one);
  fmt::print("{}{}{}{}{}", column(many, ranks * f.one / f.apart, 2), column(many && buckets, 100 * (f.late - f.without) / f.with, 1),
             column(many, 100 * (f.with - f.without) / f.with, 1), column(many, 100 * f.waiting / f.with, 1),
             column(many, 100 * f.moving / f.with, 1));
  fmt::print(" {:10.1f}\n", f.mebibytes);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 5, most = argc > 2 ? std::atoi(argv[2]) : 4;
  const mt::LaunchOptions options{.threads = 1};
  fmt::print("shares of the step in per cent\n{:8} {:>5} {:>9} {:>10} {:>6} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10}\n", "parallel", "ranks",
             "step ms", "tokens/s", "x", "x apart", "comm", "exposed", "waiting", "moving", "MiB a rank");
  const auto run = [&](const char* kind, int ranks, std::int64_t sequences, auto function) {
    const auto figures = mt::launch(options, ranks, [&](mt::Communicator& comm) { return function(comm, steps); });
    Figures slowest = figures[0];
    for (const Figures& f : figures)
      for (double Figures::*figure :
           {&Figures::apart, &Figures::with, &Figures::late, &Figures::without, &Figures::waiting, &Figures::moving, &Figures::mebibytes})
        slowest.*figure = std::max(slowest.*figure, f.*figure);
    const double expected = reference(sequences);
    if (!(std::abs(slowest.loss - expected) < 1e-4)) {
      fmt::print("{} parallel over {} ranks: the second loss is {} but one process has {}\n", kind, ranks, slowest.loss, expected);
      std::exit(1);
    }
    print(kind, ranks, slowest, sequences);
  };
  for (int ranks = 1; ranks <= most; ranks *= 2) run("data", ranks, batch * ranks, data_parallel);
  for (int ranks = 2; ranks <= most; ranks *= 2) run("tensor", ranks, batch, tensor_parallel<1>);
  if (most >= 4) run("2 x 2", 4, 2 * batch, tensor_parallel<2>);

  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    if (std::system((python + " -c 'import torch.distributed' 2>/dev/null").c_str()) != 0) continue;
    std::fflush(stdout);
    return std::system(fmt::format("{} benchmarks/parallel_torch.py {} {}", python, steps, most).c_str()) == 0 ? 0 : 1;
  }
  fmt::print("torch: not installed\n");
}
