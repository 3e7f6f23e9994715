// Every move against its adjoint, and the same bits on any number of ranks.
// SPDX-License-Identifier: MIT
#include <minitorch/parallel/moves.hpp>

#include <cmath>
#include <string>
#include <vector>

#include <minitorch/comm/launch.hpp>

#include "../catch.hpp"

namespace mt = minitorch;
namespace mp = minitorch::parallel;

namespace {

mt::Tensor<double> wave(const mt::Shape& shape, double seed) {
  return mt::compute<double>("wave", shape, [&](double* out) {
    for (std::int64_t i = 0; i < shape.numel(); ++i) out[i] = std::sin(1.7 * static_cast<double>(i) + seed);
  });
}

double dot(const mt::Tensor<double>& a, const mt::Tensor<double>& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) sum += a.data()[i] * b.data()[i];
  return sum;
}

// Values, and gradients of values, of one placement: what is the same on all ranks, and what differs between shards.
template <class P>
constexpr bool same_value = std::same_as<P, mp::Invariant> || std::same_as<P, mp::Replicated>;
template <class P>
constexpr bool same_gradient = std::same_as<P, mp::Invariant> || std::same_as<P, mp::Partial>;

template <class P>
std::size_t part_count(const mp::Axis& axis) {
  return std::same_as<P, mp::Invariant> ? 1 : static_cast<std::size_t>(axis.local_shards());
}

template <class P>
std::vector<mt::Tensor<double>> numbers(const mp::Axis& axis, const mt::Shape& shape, double seed, bool same) {
  std::vector<mt::Tensor<double>> parts;
  for (std::size_t i = 0; i < part_count<P>(axis); ++i)
    parts.push_back(wave(shape, seed + (same ? 0 : 10.0 * axis.shard(static_cast<int>(i)))));
  return parts;
}

// <a, b>: Invariant values are counted once, all others are summed over ranks.
template <class P>
double pairing(const mp::Axis& axis, const std::vector<mt::Tensor<double>>& a, const std::vector<mt::Tensor<double>>& b) {
  std::vector<double> sum(1, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) sum[0] += dot(a[i], b[i]);
  if (!std::same_as<P, mp::Invariant>) axis.comm().all_reduce(sum);
  return sum[0];
}

// <move(x), y> and <x, move^T(y)>, x from the space of values of P and y from that of gradients of the result.
template <class P, class Move>
std::vector<double> both_sides(const mp::Axis& axis, const mt::Shape& shape, Move move) {
  std::vector<mt::Tensor<double>> x = numbers<P>(axis, shape, 0.3, same_value<P>);
  for (auto& part : x) part.set_requires_grad();
  const auto moved = move(mp::Placed<double, P>(axis, x));
  using Q = typename decltype(moved)::placement;
  const auto y = numbers<Q>(axis, moved.shape(), 0.9, same_gradient<Q>);
  {
    mt::Engine engine({});
    for (std::size_t i = 0; i < y.size(); ++i)
      if (moved.parts()[i].requires_grad()) engine.add_root(moved.parts()[i], y[i]);
    engine.run();
  }
  std::vector<mt::Tensor<double>> gradients;
  for (auto& part : x) gradients.push_back(part.grad().defined() ? part.grad() : mt::zeros_like(part));
  return {pairing<Q>(axis, moved.parts(), y), pairing<P>(axis, x, gradients)};
}

template <class P, class Move>
void check_adjoint(const mt::Shape& shape, Move move) {
  for (int ranks : {1, 2, 4})
    for (int shards : {ranks, 4}) {
      const auto sides = mt::launch(ranks, [&](mt::Communicator& comm) { return both_sides<P>(mp::Axis(comm, shards), shape, move); });
      for (const std::vector<double>& side : sides) {
        CHECK(side[0] == Approx(side[1]).epsilon(1e-12));
        CHECK(std::abs(side[0]) > 1e-6);
      }
    }
}

}  // namespace

TEST_CASE("TP-04 every move against its adjoint") {
  check_adjoint<mp::Invariant>({3, 4}, [](const auto& x) { return mp::replicate(x); });
  check_adjoint<mp::Partial>({3, 4}, [](const auto& x) { return mp::all_reduce(x); });
  check_adjoint<mp::Partial>({3, 4}, [](const auto& x) { return mp::all_reduce<mp::Replicated>(x); });
  check_adjoint<mp::Partial>({3, 4}, [](const auto& x) { return mp::reduce_scatter<mp::last>(x); });
  check_adjoint<mp::Partial>({8, 2, 2}, [](const auto& x) { return mp::reduce_scatter<0>(x); });
  check_adjoint<mp::Sharded<mp::last>>({3, 2}, [](const auto& x) { return mp::all_gather(x); });
  check_adjoint<mp::Sharded<1>>({3, 2, 2}, [](const auto& x) { return mp::all_gather<mp::Replicated>(x); });
  check_adjoint<mp::Invariant>({3, 8}, [](const auto& x) { return mp::shard<mp::last>(x); });
  check_adjoint<mp::Invariant>({3, 4}, [](const auto& x) { return mp::partial(x); });
}

TEST_CASE("the same virtual shards give the same bits on 1, 2 and 4 ranks") {
  const auto run = [](int ranks) {
    return mt::launch(ranks, [](mt::Communicator& comm) {
      const mp::Axis axis(comm, 4);
      mt::Tensor<double> leaf = wave({4, 8}, 0.1).set_requires_grad();
      const auto x = mp::invariant(axis, leaf);
      const auto whole = mp::replicate(x);
      std::vector<mt::Tensor<double>> parts;  // each shard multiplies by its own matrix
      for (std::size_t i = 0; i < whole.parts().size(); ++i)
        parts.push_back(mt::matmul(whole.parts()[i], wave({8, 8}, 0.5 + axis.shard(static_cast<int>(i)))));
      const auto sum = mp::all_reduce(mp::Placed<double, mp::Partial>(axis, parts));
      sum.local().backward(wave({4, 8}, 2.0));
      std::vector<double> numbers(sum.local().values().begin(), sum.local().values().end());
      numbers.insert(numbers.end(), leaf.grad().values().begin(), leaf.grad().values().end());
      return numbers;
    });
  };
  const auto one = run(1), two = run(2), four = run(4);
  CHECK(two[0] == one[0]);
  CHECK(two[1] == one[0]);
  for (const auto& rank : four) CHECK(rank == one[0]);
}

TEST_CASE("shards that do not fit are an error with the numbers") {
  const auto message = [](int shards, std::int64_t columns) {
    try {
      mt::launch(2, [&](mt::Communicator& comm) {
        const auto x = mp::invariant(mp::Axis(comm, shards), mt::ones<double>({2, columns}));
        mp::shard<mp::last>(x);
      });
    } catch (const mt::Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK_THAT(message(3, 4), Catch::Matchers::Contains("got 3 shards for 2 ranks"));
  CHECK_THAT(message(2, 5), Catch::Matchers::Contains("5 is not divisible by 2 shards"));
}
