// div, sub and neg with tensors and numbers: by expect_op; broadcasting, repeated inputs, cycles of recorded gradients.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/sum.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

TEST_CASE("div, sub and neg") {
  tests::expect_op(
      {.saved = 0}, [](const auto& a) { return mt::neg(a); }, [](double a) { return -a; }, spread({3, 4}));
  tests::expect_op(
      {.saved = 2}, [](const auto& a, const auto& b) { return mt::div(a, b); }, [](double a, double b) { return a / b; }, spread({3, 4}),
      spread({3, 4}, 0.5, 2, 2));
  tests::expect_op(
      {.saved = 0}, [](const auto& a, const auto& b) { return mt::sub(a, b); }, [](double a, double b) { return a - b; }, spread({3, 4}),
      spread({3, 4}, 0.5, 2, 2));
}

TEST_CASE("numbers beside tensors") {
  tests::expect_op([](const auto& a) { return (3 - a) / 2 + 1.5 / a - (-a - 1) * 2; },
                   [](double a) { return (3 - a) / 2 + 1.5 / a - (-a - 1) * 2; }, spread({3, 4}, 0.5, 2));
}

TEST_CASE("BC02 sizes of 1 inside of both shapes") {
  auto a = mt::ones<double>({2, 1, 3}), b = mt::ones<double>({4, 1});
  a.set_requires_grad(), b.set_requires_grad();
  const auto y = a + b;
  CHECK(y.shape() == mt::Shape{2, 4, 3});
  mt::sum(y).backward();
  check_close(a.grad(), mt::full<double>({2, 1, 3}, 4), 0);
  check_close(b.grad(), mt::full<double>({4, 1}, 6), 0);
}

TEST_CASE("BC04 one element against five") {
  auto a = mt::ones<double>({1});
  a.set_requires_grad();
  mt::sum(a * mt::ones<double>({5})).backward();
  check_close(a.grad(), tensor<double>({5}), 0);
}

TEST_CASE("BC06 shapes that do not broadcast") {
  CHECK_THROWS_WITH(mt::ones<double>({2, 3}) + mt::ones<double>({2}), Catch::Contains("[2, 3]") && Catch::Contains("[2]"));
}

TEST_CASE("RU04 x - x and x / x have gradient zero") {
  CHECK(tests::at([](const auto& x) { return x - x; }, 2).slope == 0);
  CHECK(tests::at([](const auto& x) { return x / x; }, 2).slope == 0);
}

TEST_CASE("RU07 sixty doublings") {
  auto x = mt::scalar<double>(0);
  x.set_requires_grad();
  auto y = x;
  for (int i = 0; i < 60; ++i) y = y + y;
  y.backward();
  CHECK(x.grad().item() == 1152921504606846976.0);
}
