// The model of communication_cost with this machine's numbers, beside the layer itself.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include <examples/parts/communication_here.hpp>
#include <examples/parts/tensor_parallel.hpp>
#include <examples/support/measure.hpp>

namespace examples {

const support::Part communication_here_part{"communication_here",
                                            "The same on this machine (an MLP 512 -> 2048 -> 512, 1024 tokens, float, t = 2)",
                                            {{"gigaflops", "products of a rank's size, GFLOP/s of a rank"},
                                             {"gigabytes", "values that all-reduces carry, GB/s"},
                                             {"predicted_share", "2 all-reduces, of the computation at these speeds"},
                                             {"measured_share", "what a step takes longer than without its peer, of that"}}};

namespace {

constexpr std::int64_t tokens = 1024, width = 512, inner = 2048;
constexpr int ranks = 2, runs = 9;

struct Speeds {
  double product, all_reduce, parallel, alone;  // seconds
};

Speeds measured(mt::Communicator& comm) {
  const mp::Axis axis(comm);
  const auto timed = [&](auto&& call) {
    call();
    return support::median_seconds(runs, [&] {
      comm.barrier();
      call();
    });
  };
  auto x = mt::ones<float>({tokens, width}).set_requires_grad();
  const auto weight = mt::ones<float>({inner / ranks, width});
  mp::ParallelMLP<float> split(axis, width, inner, width);
  mt::nn::MLP<float> part(width, inner / ranks, width);  // what a rank computes of it
  Speeds s{};
  s.product = timed([&] { mt::no_grad([&] { mt::linear(x, weight); }); });
  const mt::MemoryScope in_arena(comm.memory());
  mt::Tensor<float> sum = mt::zeros<float>({tokens, width});
  s.all_reduce = timed([&] { comm.all_reduce(sum.mutable_values()); });
  s.parallel = timed([&] { mt::mean(mt::square(split(mp::invariant(axis, x)))).backward(); });
  s.alone = timed([&] { mt::mean(mt::square(part(x))).backward(); });
  return s;
}

}  // namespace

void communication_here(support::Report& report) {
  Speeds slowest{};
  for (const Speeds& s : mt::launch({.threads = 1}, ranks, measured))
    slowest = {std::max(slowest.product, s.product), std::max(slowest.all_reduce, s.all_reduce), std::max(slowest.parallel, s.parallel),
               std::max(slowest.alone, s.alone)};
  const double product = 2.0 * tokens * width * (inner / ranks), carried = 4.0 * tokens * width;
  const double compute = 3 * 2 * slowest.product;  // two products forward, four backward
  report.begin(communication_here_part);
  report.show("gigaflops", product / slowest.product / 1e9);
  report.show("gigabytes", carried / slowest.all_reduce / 1e9);
  report.show("predicted_share", 2 * slowest.all_reduce / compute);
  report.show("measured_share", slowest.parallel / slowest.alone - 1);
}

}  // namespace examples
