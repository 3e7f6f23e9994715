// The sum of an input's gradient over ranks goes on while the weights' gradients are computed, and changes no bit.
// SPDX-License-Identifier: MIT
#include <minitorch/parallel/overlap.hpp>

#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include <minitorch/comm/launch.hpp>
#include <minitorch/ops/square.hpp>
#include <minitorch/ops/sum.hpp>
#include <minitorch/parallel/data_parallel.hpp>
#include <minitorch/parallel/operations.hpp>

#include "../catch.hpp"

namespace mt = minitorch;
namespace mp = minitorch::parallel;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A communicator that notes when its last asynchronous sum was begun. Of doubles alone.
class Stamped final : public mt::Communicator {
 public:
  explicit Stamped(mt::Communicator& real) : Communicator(real.rank(), real.size(), real.deadline()), real_(real) {}
  double begun = 0;

  std::pmr::memory_resource* memory() override { return real_.memory(); }
  int world_rank(int rank) const override { return real_.world_rank(rank); }
  void log(std::string_view line) override { real_.log(line); }
  std::unique_ptr<Communicator> split(int color, int key) override { return real_.split(color, key); }

 protected:
  void run(const mt::comm::Call& call) override { real_.all_reduce(in(call), out(call)); }
  mt::Work start(const mt::comm::Call& call) override {
    begun = now();
    return real_.start_all_reduce(in(call), out(call));
  }
  void run_pair(int, int, const mt::comm::Call&) override {}

 private:
  static std::span<const double> in(const mt::comm::Call& call) {
    return {static_cast<const double*>(static_cast<const void*>(call.in)), static_cast<std::size_t>(call.count)};
  }
  static std::span<double> out(const mt::comm::Call& call) {
    return {static_cast<double*>(static_cast<void*>(call.out)), static_cast<std::size_t>(call.count)};
  }

  mt::Communicator& real_;
};

mt::Tensor<double> input() {
  return mt::compute<double>("input", {6, 16},
                             [](double* out) {
                               for (int i = 0; i < 96; ++i) out[i] = std::sin(i);
                             })
      .set_requires_grad();
}

std::vector<double> values(const mt::Tensor<double>& x) { return {x.values().begin(), x.values().end()}; }

struct Pair {
  mt::Tensor<double> first = mt::ones<double>({3}).set_requires_grad(), second = mt::ones<double>({3}).set_requires_grad();
  template <class Visitor>
  void visit(Visitor&& v) {
    v("first", first);
    v("second", second);
  }
};

}  // namespace

TEST_CASE(
    "layers of one input have the gradients that they have one by one, "
    "bit for bit") {
  const auto gradients = mt::launch(2, [](mt::Communicator& comm) {
    const mp::Axis axis(comm);
    std::vector<std::vector<double>> runs;
    for (bool together : {true, false}) {
      mt::manual_seed(3);
      mp::ColumnLinear<double> a(axis, 16, 8), b(axis, 16, 8, {.bias = false});
      auto x = input();
      const auto placed = mp::invariant(axis, x);
      const auto both = [&] {
        if (together) return mp::column_layers(placed, a, b);
        const auto whole = mp::replicate(placed);
        return std::array{a(whole), b(whole)};
      }();
      mp::all_reduce(mt::sum(mt::square(both[0]) + both[1])).backward();
      std::vector<double> all = values(x.grad());
      for (const auto& g : {a.weight.shards[0].grad(), a.bias.shards[0].grad(), b.weight.shards[0].grad()})
        for (double value : g.values()) all.push_back(value);
      runs.push_back(all);
    }
    return std::vector<double>{runs[0] == runs[1] ? 1.0 : 0.0, runs[0][0]};
  });
  for (const auto& rank : gradients) {
    CHECK(rank[0] == 1);
    CHECK(rank[1] == gradients[0][1]);
  }
  CHECK(gradients[0][1] != 0);
}

TEST_CASE(
    "a weight's gradient is there before the other rank has come to the "
    "sum of the input's") {
  const auto stamps = mt::launch(2, [](mt::Communicator& comm) {
    Stamped stamped(comm);
    const mp::Axis axis(stamped);
    mp::ColumnLinear<double> layer(axis, 16, 8);
    auto x = input();
    double weight_done = 0, input_done = 0;
    layer.weight.shards[0].register_post_accumulate_hook([&] { weight_done = now(); });
    x.register_post_accumulate_hook([&] { input_done = now(); });
    const auto loss = mp::all_reduce(mt::sum(mt::square(mp::column_layers(mp::invariant(axis, x), layer)[0])));
    if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    loss.backward();
    return std::vector<double>{stamped.begun, weight_done, input_done};
  });
  const auto &early = stamps[0], &late = stamps[1];
  CHECK(early[0] < early[1]);  // first the sum is begun, then the product runs,
  CHECK(early[1] < late[0]);   // which needs nobody,
  CHECK(early[2] > late[0]);   // and the sum is done when both have come
}

TEST_CASE("second derivatives go through the sum over ranks") {
  const auto ends = mt::launch(2, [](mt::Communicator& comm) {
    const mp::Axis axis(comm);
    mt::manual_seed(3);
    mp::ColumnLinear<double> layer(axis, 16, 8);
    auto x = input();
    const auto second = [&](bool together) {
      const auto placed = mp::invariant(axis, x);
      const auto y = together ? mp::column_layers(placed, layer)[0] : layer(mp::replicate(placed));
      const auto loss = mp::all_reduce(mt::sum(mt::square(y) * mt::square(y)));
      const auto first = mt::grad(loss.local(), x, {.create_graph = true});
      return values(mt::grad(mt::sum(mt::square(first)), x));
    };
    return second(true) == second(false) ? 1 : 0;
  });
  for (int same : ends) CHECK(same == 1);
}

TEST_CASE("a bucket's sum is begun before backward has come to the next one's gradients") {
  const auto begun = mt::launch(2, [](mt::Communicator& comm) {
    Pair model;
    std::uint64_t at_first = 0, at_second = 0;
    model.first.register_post_accumulate_hook([&] { at_first = mt::thread_state.collectives; });
    model.second.register_post_accumulate_hook([&] { at_second = mt::thread_state.collectives; });
    mp::DataParallel<double> parallel(model, comm, {.bucket_bytes = 8});
    const auto loss = mt::sum(mt::square(mt::square(model.first) + model.second));
    const std::uint64_t before = mt::thread_state.collectives;
    parallel.backward(loss, 1);
    parallel.finish();
    return std::vector<double>{static_cast<double>(at_second - before), static_cast<double>(at_first - before)};
  });
  for (const auto& rank : begun) CHECK(rank == std::vector<double>{0, 1});
}
