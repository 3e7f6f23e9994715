// mul: by expect_op, and the rows of the case table about broadcasting and repeated inputs.
// SPDX-License-Identifier: MIT
#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/sum.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using tests::check_close;

TEST_CASE("mul") {
  tests::expect_op(
      {.saved = 2}, [](const auto& a, const auto& b) { return mt::mul(a, b); }, [](double a, double b) { return a * b; },
      tests::spread({3, 4}), tests::spread({3, 4}, -1, 3, 2));
}

TEST_CASE("mul by a number") {
  tests::expect_op(
      {.saved = 0}, [](const auto& a) { return 1.5 * a; }, [](double a) { return 1.5 * a; }, tests::spread({3, 4}));
}

TEST_CASE("BC01 a row vector times a matrix") {
  auto a = mt::ones<double>({2, 3}), b = mt::ones<double>({3});
  a.set_requires_grad(), b.set_requires_grad();
  mt::sum(2 * a * b).backward();
  check_close(a.grad(), mt::full<double>({2, 3}, 2), 0);
  check_close(b.grad(), tensor<double>({4, 4, 4}), 0);
}

TEST_CASE("RU01 x times itself") {
  auto x = mt::scalar<double>(3);
  x.set_requires_grad();
  (x * x).backward();
  CHECK(x.grad().item() == 6);
}

TEST_CASE("RU06 a diamond") {
  auto x = mt::scalar<double>(2);
  x.set_requires_grad();
  const auto y = x * x;
  (y * x + y).backward();
  CHECK(x.grad().item() == 16);
}
