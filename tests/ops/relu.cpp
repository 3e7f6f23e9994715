// relu, leaky_relu and clamp: by expect_op; NaN and bounds.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/clamp.hpp>
#include <minitorch/ops/leaky_relu.hpp>
#include <minitorch/ops/relu.hpp>
#include <minitorch/ops/sum.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

TEST_CASE("relu") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::relu(x); }, [](double x) { return x > 0 ? x : 0.0; }, spread({3, 5}));
}

TEST_CASE("leaky_relu") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::leaky_relu(x, 0.125f); }, [](double x) { return x > 0 ? x : 0.125 * x; },
      spread({3, 5}));
}

TEST_CASE("clamp") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::clamp(x, -1, 0.75f); }, [](double x) { return x < -1     ? -1.0
                                                                                                 : x > 0.75 ? 0.75
                                                                                                            : x; },
      spread({3, 5}));
  CHECK_THROWS_AS(mt::clamp(mt::scalar<double>(0), 1, -1), mt::ArgumentError);
}

TEST_CASE("NN02 relu keeps NaN") {
  check_close(mt::relu(tensor<double>({tests::nan_value, -1, 0, 2})), tensor<double>({tests::nan_value, 0, 0, 2}));
}

TEST_CASE("NN04 clamp passes the gradient inside and at its bounds, none at NaN") {
  auto x = tensor<double>({tests::nan_value, -1, 0, 1, 2});
  x.set_requires_grad();
  const auto y = mt::clamp(x, 0, 1);
  check_close(y.detach(), tensor<double>({tests::nan_value, 0, 0, 1, 1}));
  mt::sum(y).backward();
  check_close(x.grad(), tensor<double>({0, 0, 1, 1, 0}), 0);
}
