// exp, tanh, sigmoid, silu and square: by expect_op and far from zero.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/exp.hpp>
#include <minitorch/ops/sigmoid.hpp>
#include <minitorch/ops/silu.hpp>
#include <minitorch/ops/square.hpp>
#include <minitorch/ops/tanh.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

TEST_CASE("exp and square") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::exp(x); }, [](double x) { return std::exp(x); }, spread({3, 5}));
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::square(x); }, [](double x) { return x * x; }, spread({3, 5}));
}

TEST_CASE("tanh, sigmoid and silu") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::tanh(x); }, [](double x) { return std::tanh(x); }, spread({3, 5}));
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, spread({3, 5}));
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::silu(x); }, [](double x) { return x / (1 + std::exp(-x)); }, spread({3, 5}));
}

TEST_CASE("KG15 tanh far from zero") {
  const auto far = tests::at([](const auto& x) { return mt::tanh(x); }, 1000);
  CHECK(far.value == 1);
  CHECK(far.slope == 0);
}
