// softmax and log_softmax: by expect_op; infinities, NaN and logits that overflow.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/softmax.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using tests::check_close;
using tests::spread;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan_value = std::numeric_limits<double>::quiet_NaN();

// The definition, along the last dimension.
mt::Tensor<double> log_softmax_rows(const mt::Tensor<double>& x) {
  mt::Tensor<double> out = x.detach().clone();
  const std::int64_t n = x.shape().back();
  for (double *row = out.mutable_data(), *end = row + out.numel(); row != end; row += n) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::exp(row[i]);
    for (std::int64_t i = 0; i < n; ++i) row[i] -= std::log(sum);
  }
  return out;
}

}  // namespace

TEST_CASE("softmax") {
  const auto rows = [](const mt::Tensor<double>& x) {
    mt::Tensor<double> out = log_softmax_rows(x);
    for (double& v : out.mutable_values()) v = std::exp(v);
    return out;
  };
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::softmax(x); }, rows, spread({3, 17}));
  tests::expect_op([](const auto& x) { return mt::softmax(x, 0); },
                   [rows](const mt::Tensor<double>& x) { return mt::transposed(rows(mt::transposed(x))); }, spread({5, 3}));
}

TEST_CASE("log_softmax") {
  tests::expect_op(
      {.tolerance = 1e-12, .saved = 1}, [](const auto& x) { return mt::log_softmax(x); }, log_softmax_rows, spread({2, 3, 5}));
}

TEST_CASE("NN06 NN08 rows of -inf and rows with inf are NaN") {
  check_close(mt::softmax(tensor<double>({{-infinity, -infinity}})), tensor<double>({{nan_value, nan_value}}));
  check_close(mt::softmax(tensor<double>({{infinity, 0}})), tensor<double>({{nan_value, nan_value}}));
}

TEST_CASE("NN07 softmax with some -inf") {
  auto x = tensor<double>({0, -infinity, 1});
  x.set_requires_grad();
  const auto y = mt::softmax(x);
  check_close(y.detach(), tensor<double>({0.26894142136999516, 0, 0.7310585786300049}));
  mt::sum(y * tensor<double>({1, 2, 3})).backward();
  check_close(x.grad(), tensor<double>({-0.3932238664829638, 0, 0.3932238664829638}));
}

TEST_CASE("NN13 log_softmax of logits whose exponentials overflow") {
  auto x = tensor<double>({1000, 0, -1000});
  x.set_requires_grad();
  const auto y = mt::log_softmax(x);
  check_close(y.detach(), tensor<double>({0, -1000, -2000}));
  y[2].backward();
  check_close(x.grad(), tensor<double>({-1, 0, 1}));
}
