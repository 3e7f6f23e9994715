// max, min, their indices and the median: by expect_op; ties, NaN and empty tensors.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <vector>

#include <minitorch/ops/concatenate.hpp>
#include <minitorch/ops/gather.hpp>
#include <minitorch/ops/max.hpp>
#include <minitorch/ops/median.hpp>
#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/sum.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

namespace {
Tensor<double> leaf(std::initializer_list<double> values) {
  auto x = tensor<double>(values);
  x.set_requires_grad();
  return x;
}
template <class F>
Tensor<double> gradient(F f, std::initializer_list<double> values) {
  const auto x = leaf(values);
  mt::sum(f(x)).backward();
  return x.grad();
}
const auto largest_column = [](const Tensor<double>& x) {
  Tensor<double> out = x.slice(0, 1).reshape({x.size(1)}).detach().clone();
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    double& kept = out.mutable_data()[i % x.size(1)];
    kept = std::fmax(kept, x.data()[i]);
  }
  return out;
};
}  // namespace

TEST_CASE("max and max_with_index") {
  tests::expect_op([](const auto& x) { return mt::max(x, 0); }, largest_column, spread({4, 3}));
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::max_with_index(x, 0).value; }, largest_column, spread({4, 3}));
}

TEST_CASE("min") {
  tests::expect_op([](const auto& x) { return mt::min(x); },
                   [](const Tensor<double>& x) { return mt::scalar<double>(*std::min_element(x.values().begin(), x.values().end())); },
                   spread({3, 4}));
}

TEST_CASE("median") {
  const auto lower_middle = [](const Tensor<double>& x) {
    std::vector<double> sorted(x.values().begin(), x.values().end());
    std::ranges::sort(sorted);
    return mt::scalar<double>(sorted[(sorted.size() - 1) / 2]);
  };
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::median(x); }, lower_middle, spread({3, 4}));
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::median(x, 1, true).value; },
      [=](const Tensor<double>& x) {
        return mt::concatenate({lower_middle(x[0]).reshape({1, 1}), lower_middle(x[1]).reshape({1, 1})});
      },
      spread({2, 5}));
}

TEST_CASE("NN01 a NaN is the largest and the smallest") {
  const auto x = tensor<double>({1, tests::nan_value, 2});
  CHECK(std::isnan(mt::max(x).item()));
  CHECK(std::isnan(mt::min(x).item()));
  CHECK(mt::argmax(x, 0).item() == 1);
}

TEST_CASE("ZS02 the largest of nothing") {
  CHECK_THROWS_AS(mt::max(mt::zeros<double>({0})), mt::ArgumentError);
  CHECK_THROWS_AS(mt::argmax(mt::zeros<double>({3, 0}), 1), mt::ArgumentError);
  CHECK(mt::max(mt::zeros<double>({0, 3}), 1).shape() == mt::Shape{0});
}

TEST_CASE("KG28 KG29 KG31 ties") {
  check_close(gradient([](const auto& x) { return mt::max(x); }, {1, 3, 3}), tensor<double>({0, .5, .5}), 0);
  const auto found = mt::max_with_index(tensor<double>({1, 3, 3}), 0);
  CHECK(found.index.item() == 1);
  check_close(gradient([](const auto& x) { return mt::max_with_index(x, 0).value; }, {1, 3, 3}), tensor<double>({0, 1, 0}), 0);
  check_close(gradient([](const auto& x) { return mt::min(x.reshape({2, 2})); }, {1, 1, 1, 1}), mt::full<double>({4}, .25), 0);
}

TEST_CASE("KG33 the median of an even number is the lower one") {
  CHECK(mt::median(tensor<double>({1, 2, 3, 4})).item() == 2);
  check_close(gradient([](const auto& x) { return mt::median(x); }, {1, 2, 3, 4}), tensor<double>({0, 1, 0, 0}), 0);
  CHECK(mt::median(tensor<double>({{3, 1, 2}, {9, 8, 7}}), 1).index.data()[1] == 1);
}
