// sum, mean, var and standard_deviation: by expect_op; empty tensors, wide sums of narrow types.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/mean.hpp>
#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/sum.hpp>
#include <minitorch/ops/var.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

namespace {
// f of each line of a [2, 3, 4] tensor along its middle dimension.
template <class F>
auto along_middle(F f) {
  return [f](const Tensor<double>& x) {
    Tensor<double> out = mt::zeros<double>({2, 4});
    for (std::int64_t o = 0; o < 2; ++o)
      for (std::int64_t j = 0; j < 4; ++j)
        out.mutable_data()[o * 4 + j] = f(x.data()[o * 12 + j], x.data()[o * 12 + 4 + j], x.data()[o * 12 + 8 + j]);
    return out;
  };
}
double variance(double a, double b, double c) {
  const double m = (a + b + c) / 3;
  return ((a - m) * (a - m) + (b - m) * (b - m) + (c - m) * (c - m)) / 2;
}
}  // namespace

TEST_CASE("sum and mean") {
  tests::expect_op(
      {.saved = 0}, [](const auto& x) { return mt::sum(x, 1); }, along_middle([](double a, double b, double c) { return a + b + c; }),
      spread({2, 3, 4}, 0.5, 2));
  tests::expect_op(
      {.saved = 0},
      [](const auto& x) {
        return mt::mean(x, {0, -1}, true);
      },
      [](const Tensor<double>& x) {
        Tensor<double> out = mt::zeros<double>({1, 3, 1});
        for (std::int64_t i = 0; i < 24; ++i) out.mutable_data()[i / 4 % 3] += x.data()[i] / 8;
        return out;
      },
      spread({2, 3, 4}, 0.5, 2));
}

TEST_CASE("var and standard_deviation") {
  tests::expect_op(
      {.tolerance = 1e-12}, [](const auto& x) { return mt::var(x, 1); }, along_middle(variance), spread({2, 3, 4}));
  tests::expect_op(
      {.tolerance = 1e-12}, [](const auto& x) { return mt::standard_deviation(x, 1); },
      along_middle([](double a, double b, double c) { return std::sqrt(variance(a, b, c)); }), spread({2, 3, 4}));
}

TEST_CASE("KG38 KG39 the variance of equal elements, of one, and its gradient") {
  auto x = tensor<double>({5, 5});
  x.set_requires_grad();
  mt::standard_deviation(x).backward();
  check_close(x.grad(), tensor<double>({0, 0}), 0);
  CHECK(std::isnan(mt::var(tensor<double>({1})).item()));
  CHECK(mt::var(tensor<double>({1}), {}, false, 0).item() == 0);
  auto y = tensor<double>({1, 2, 4});
  y.set_requires_grad();
  mt::var(y).backward();
  check_close(y.grad(), tensor<double>({-4.0 / 3, -1.0 / 3, 5.0 / 3}));
}

TEST_CASE("ZS08 ZS09 sums and means of nothing") {
  auto none = mt::zeros<double>({0});
  none.set_requires_grad();
  mt::mean(none).backward();
  CHECK(none.grad().shape() == mt::Shape{0});
  check_close(mt::sum(mt::zeros<double>({0, 3}), 0), mt::zeros<double>({3}), 0);
  check_close(mt::mean(mt::zeros<double>({0, 3}), 0), mt::full<double>({3}, tests::nan_value));
  check_close(mt::sum(mt::zeros<double>({3, 0}), 1), mt::zeros<double>({3}), 0);
}

TEST_CASE("HP12 HP13 HP14 sums of narrow ones") {
  const auto many = mt::ones<mt::half>({70000});
  CHECK(static_cast<float>(mt::sum(many).item()) == std::numeric_limits<float>::infinity());
  CHECK(static_cast<float>(mt::mean(many).item()) == 1);
  CHECK(static_cast<float>(mt::sum(mt::ones<mt::half>({4096})).item()) == 4096);
  CHECK(static_cast<float>(mt::mean(mt::ones<mt::bfloat16>({4096})).item()) == 1);
}

TEST_CASE("HP15 means whose sums overflow") {
  CHECK(static_cast<float>(mt::mean(mt::full<mt::half>({3}, static_cast<mt::half>(40000.0f))).item()) == 40000);
  CHECK(mt::mean(mt::full<float>({3}, 3e38f)).item() == 3e38f);
}

TEST_CASE("AC02 a million tenths in float") {
  CHECK(static_cast<double>(mt::sum(mt::full<float>({1000000}, 0.1f)).item()) == Approx(100000.0015).epsilon(1e-7));
}

TEST_CASE("dimensions that are not there, or named twice") {
  const auto x = mt::zeros<double>({2, 3});
  CHECK_THROWS_AS(mt::sum(x, 2), mt::ShapeError);
  CHECK_THROWS_AS(mt::sum(x, {0, -2}), mt::ArgumentError);
}
