// Split linear layers: starting numbers, the bias that is added once, residual gradients, norms of gradients.
// SPDX-License-Identifier: MIT
#include <minitorch/parallel/linear.hpp>

#include <cmath>
#include <vector>

#include <minitorch/comm/launch.hpp>
#include <minitorch/nn/linear.hpp>
#include <minitorch/ops/square.hpp>
#include <minitorch/ops/sum.hpp>
#include <minitorch/parallel/clip.hpp>

#include "../catch.hpp"

namespace mt = minitorch;
namespace mp = minitorch::parallel;

namespace {

mt::Tensor<double> input() {
  return mt::compute<double>("input", {3, 8}, [](double* out) {
    for (std::int64_t i = 0; i < 24; ++i) out[i] = std::cos(static_cast<double>(i));
  });
}

std::vector<double> flat(std::initializer_list<mt::Tensor<double>> tensors) {
  std::vector<double> numbers;
  for (const auto& tensor : tensors) numbers.insert(numbers.end(), tensor.values().begin(), tensor.values().end());
  return numbers;
}

void check_close(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(1e-12).margin(1e-14));
}

}  // namespace

TEST_CASE("TP-01 TP-03 a row-split layer beside a residual: value, bias gradient, input gradient and norm are those of the whole layer") {
  mt::manual_seed(4);
  mt::nn::Linear<double> whole(8, 8);
  auto x = input().set_requires_grad();
  const auto y = x + whole(x);
  mt::sum(mt::square(y)).backward();
  const double norm = std::sqrt(mt::sum(mt::square(whole.weight.grad())).item() + mt::sum(mt::square(whole.bias.grad())).item());
  auto expected = flat({y.detach(), whole.bias.grad(), x.grad()});
  expected.push_back(norm);

  std::vector<std::vector<double>> seen;
  for (int ranks : {1, 2, 4}) {
    for (const auto& rank : mt::launch(ranks, [](mt::Communicator& comm) {
           const mp::Axis axis(comm, 4);
           mt::manual_seed(4);
           mp::RowLinear<double> row(axis, 8, 8);
           auto leaf = input().set_requires_grad();
           const auto stream = mp::invariant(axis, leaf);
           const auto out = stream + mp::all_reduce(row(mp::shard<mp::last>(stream)));
           mt::sum(mt::square(out)).backward();
           auto numbers = flat({out.local().detach(), row.bias.grad(), leaf.grad()});
           numbers.push_back(mp::grad_norm(row, axis));
           return numbers;
         }))
      seen.push_back(rank);
  }
  check_close(seen[0], expected);
  for (const auto& rank : seen) CHECK(rank == seen[0]);
}

TEST_CASE("TP-11 Z-01 Z-07 clipping by the norm of sharded and whole parameters: the same factor on every rank") {
  for (int ranks : {1, 2}) {
    const auto norms = mt::launch(ranks, [](mt::Communicator& comm) {
      const mp::Axis axis(comm, 2);
      mt::manual_seed(4);
      mp::RowLinear<double> row(axis, 8, 8);
      mt::sum(mt::square(mp::all_reduce(row(mp::shard<mp::last>(axis, input()))))).backward();
      const double before = mp::clip_grad_norm_(row, axis, 1.0);
      return std::vector<double>{before, mp::grad_norm(row, axis)};
    });
    for (const auto& rank : norms) {
      CHECK(rank == norms[0]);
      CHECK(rank[0] > 1);
      CHECK(rank[1] == Approx(rank[0] / (rank[0] + 1e-6)).epsilon(1e-12));
    }
  }
}

TEST_CASE("a bfloat16 activation through split float layers: parts stay in float until they are summed") {
  const auto run = [](int ranks) {
    return mt::launch(ranks, [](mt::Communicator& comm) {
      const mp::Axis axis(comm, 4);
      mt::manual_seed(4);
      mp::ColumnLinear<float> up(axis, 8, 16);
      mp::RowLinear<float> down(axis, 16, 8);
      auto x = input().to<mt::bfloat16>();
      const auto y = mp::all_reduce(down(up(mp::replicate(mp::invariant(axis, x)))));
      static_assert(std::same_as<std::remove_cvref_t<decltype(y.local())>, mt::Tensor<mt::bfloat16>>);
      mt::sum(mt::square(y)).backward();
      std::vector<double> numbers;
      for (mt::bfloat16 value : y.local().values()) numbers.push_back(static_cast<double>(value));
      for (float value : down.bias.grad().values()) numbers.push_back(static_cast<double>(value));
      return numbers;
    });
  };
  const auto one = run(1), two = run(2);
  CHECK(one[0] == two[0]);
  CHECK(two[0] == two[1]);
}
