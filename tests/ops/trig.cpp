// sin, cos and erf: by expect_op.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/erf.hpp>
#include <minitorch/ops/trig.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

TEST_CASE("sin and cos") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::sin(x); }, [](double x) { return std::sin(x); }, spread({3, 5}));
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::cos(x); }, [](double x) { return std::cos(x); }, spread({3, 5}, 0, 1.4));
}

TEST_CASE("erf") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::erf(x); }, [](double x) { return std::erf(x); }, spread({3, 5}));
}
