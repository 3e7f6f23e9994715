// The loss of a vocabulary that is split over ranks, beside cross_entropy of the whole.
// SPDX-License-Identifier: MIT
#include <minitorch/parallel/vocab.hpp>

#include <cmath>
#include <vector>

#include <minitorch/comm/launch.hpp>
#include <minitorch/ops/cross_entropy.hpp>

#include "../catch.hpp"

namespace mt = minitorch;
namespace mp = minitorch::parallel;

namespace {

// Ten symbols, six rows, gaps of 200 between logits.
mt::Tensor<double> all_logits() {
  return mt::compute<double>("logits", {6, 10}, [](double* out) {
    for (std::int64_t i = 0; i < 60; ++i) out[i] = std::sin(static_cast<double>(i)) * (i % 7 == 0 ? 100 : 1);
  });
}

mt::Tensor<std::int64_t> some_targets() { return mt::tensor<std::int64_t>({9, 0, -100, 3, 7, 5}); }

// Loss and gradient of the shards, joined, without padding.
std::vector<std::vector<double>> over_ranks(int ranks, double smoothing) {
  return mt::launch(ranks, [&](mt::Communicator& comm) {
    const mp::Axis axis(comm, 4);
    const std::int64_t columns = mp::padded_vocabulary(axis, 10) / 4;
    std::vector<mt::Tensor<double>> shards;
    for (int local = 0; local < axis.local_shards(); ++local) {
      const std::int64_t first = columns * axis.shard(local), there = (std::min<std::int64_t>)(columns, 10 - first);
      const auto wide = mt::full<double>({6, columns}, 1e6);  // what is in the padding must not matter
      shards.push_back(mt::no_grad([&] {
        auto shard = wide.clone();
        const auto slice = mt::take_range(all_logits(), 1, first, there);
        for (std::int64_t r = 0; r < 6; ++r) std::copy_n(slice.data() + r * there, there, shard.mutable_data() + r * columns);
        return shard;
      }));
      shards.back().set_requires_grad();
    }
    const mp::Placed<double, mp::Sharded<mp::last>> logits(axis, shards);
    const auto loss = mp::vocab_cross_entropy(logits, some_targets(), 10, {.label_smoothing = smoothing});
    loss.backward();
    std::vector<mt::Tensor<double>> gradients;
    for (auto& shard : shards) gradients.push_back(shard.grad());
    const auto joined = mt::no_grad([&] {
      const auto whole = mp::all_gather(mp::Placed<double, mp::Sharded<mp::last>>(axis, gradients)).local();
      return mt::take_range(whole, 1, 0, 10);
    });
    std::vector<double> numbers{loss.item()};
    numbers.insert(numbers.end(), joined.values().begin(), joined.values().end());
    return numbers;
  });
}

}  // namespace

TEST_CASE("TP-08 TP-09 vocabulary-parallel cross entropy, with smoothing, ignored rows and padding, equals that of the whole") {
  for (double smoothing : {0.0, 0.1}) {
    auto logits = all_logits().set_requires_grad();
    const auto loss = mt::cross_entropy(logits, some_targets(), {.label_smoothing = smoothing});
    loss.backward();
    const auto one = over_ranks(1, smoothing);
    REQUIRE(std::isfinite(one[0][0]));
    CHECK(one[0][0] == Approx(loss.item()).epsilon(1e-12));
    for (std::int64_t i = 0; i < 60; ++i)
      CHECK(one[0][static_cast<std::size_t>(i) + 1] == Approx(logits.grad().data()[i]).epsilon(1e-12).margin(1e-15));
    for (int ranks : {2, 4})
      for (const auto& rank : over_ranks(ranks, smoothing)) CHECK(rank == one[0]);
  }
}

TEST_CASE("a target outside of the vocabulary is an error on every rank") {
  CHECK_THROWS_WITH(mt::launch(2,
                               [](mt::Communicator& comm) {
                                 const mp::Placed<double, mp::Sharded<mp::last>> logits(comm, {mt::zeros<double>({1, 5})});
                                 mp::vocab_cross_entropy(logits, mt::tensor<std::int64_t>({10}), 10);
                               }),
                    Catch::Contains("target 10 is out of range for 10 symbols"));
}
