// sqrt, rsqrt, abs and sign: by expect_op and at special points; a zero that comes in stays zero.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/abs.hpp>
#include <minitorch/ops/compare.hpp>
#include <minitorch/ops/masked.hpp>
#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/rsqrt.hpp>
#include <minitorch/ops/sqrt.hpp>
#include <minitorch/ops/square.hpp>
#include <minitorch/ops/sum.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

TEST_CASE("sqrt and rsqrt") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::sqrt(x); }, [](double x) { return std::sqrt(x); }, spread({3, 5}, 0.2, 4));
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }, spread({3, 5}, 0.2, 4));
}

TEST_CASE("abs and sign") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::abs(x); }, [](double x) { return std::abs(x); }, spread({3, 5}));
  tests::expect_op(
      {.saved = 0}, [](const auto& x) { return mt::sign(x); }, [](double x) { return x > 0 ? 1.0 : -1.0; }, spread({3, 5}));
}

TEST_CASE("KG02 KG13 abs and sign at zero") {
  const auto size = tests::at([](const auto&x) { return mt::abs(x); }, 0), which = tests::at([](const auto&x) { return mt::sign(x); }, 0);
  CHECK(size.value == 0);
  CHECK(size.slope == 0);
  CHECK(which.value == 0);
  CHECK(which.slope == 0);
}

TEST_CASE("KG10 KG12 rsqrt of zero, sqrt of a negative number") {
  const auto zero = tests::at([](const auto&x) { return mt::rsqrt(x); }, 0),
             negative = tests::at([](const auto&x) { return mt::sqrt(x); }, -1);
  CHECK(zero.value == tests::infinity);
  CHECK(zero.slope == -tests::infinity);
  CHECK(std::isnan(negative.value));
  CHECK(std::isnan(negative.slope));
}

TEST_CASE("KG04 the square root of a sum of squares has no gradient at zero") {
  auto x = mt::zeros<double>({3});
  x.set_requires_grad();
  const auto y = mt::sqrt(mt::sum(mt::square(x)));
  CHECK(y.item() == 0);
  y.backward();
  for (double v : x.grad().values()) CHECK(std::isnan(v));
}

TEST_CASE("NN15 where keeps the infinite slope of sqrt at 0 out") {
  auto x = tensor<double>({0, 4});
  x.set_requires_grad();
  const auto y = mt::where(x > 0, mt::sqrt(x), 0);
  check_close(y.detach(), tensor<double>({0, 2}), 0);
  mt::sum(y).backward();
  check_close(x.grad(), tensor<double>({0, 0.25}), 0);
}

TEST_CASE("a second derivative at a stationary point is right: (sqrt(x) - 1)^2 at 1") {
  auto x = mt::scalar<double>(1);
  x.set_requires_grad();
  const auto first = mt::grad(mt::square(mt::sqrt(x) - 1), x, {.create_graph = true});
  CHECK(first.item() == 0);
  CHECK(mt::grad(first, x).item() == 0.5);
}
