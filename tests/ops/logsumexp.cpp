// logsumexp and norm: by expect_op; infinities, zero vectors, squares out of range.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/logsumexp.hpp>
#include <minitorch/ops/norm.hpp>
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
}  // namespace

TEST_CASE("logsumexp") {
  const auto right = [](const Tensor<double>& x) {
    Tensor<double> out = mt::zeros<double>({1, 3});
    for (std::int64_t i = 0; i < 12; ++i) out.mutable_data()[i % 3] += std::exp(x.data()[i]);
    for (double& v : out.mutable_values()) v = std::log(v);
    return out;
  };
  tests::expect_op(
      {.tolerance = 1e-12}, [](const auto& x) { return mt::logsumexp(x, 0, true); }, right, spread({4, 3}));
}

TEST_CASE("norm") {
  const auto right = [](const Tensor<double>& x) {
    Tensor<double> out = mt::zeros<double>({3});
    for (std::int64_t i = 0; i < 12; ++i) out.mutable_data()[i / 4] += x.data()[i] * x.data()[i];
    for (double& v : out.mutable_values()) v = std::sqrt(v);
    return out;
  };
  tests::expect_op(
      {.saved = 2}, [](const auto& x) { return mt::norm(x, 1); }, right, spread({3, 4}));
}

TEST_CASE("NN09 NN11 logsumexp of infinities") {
  const auto low = leaf({-tests::infinity, -tests::infinity});
  const auto y = mt::logsumexp(low);
  CHECK(y.item() == -tests::infinity);
  y.backward();
  check_close(low.grad(), tensor<double>({0, 0}), 0);
  const auto high = leaf({tests::infinity, 0});
  const auto z = mt::logsumexp(high);
  CHECK(z.item() == tests::infinity);
  z.backward();
  check_close(high.grad(), tensor<double>({tests::nan_value, 0}));
}

TEST_CASE("KG03 the norm of a zero vector has gradient zero") {
  const auto x = leaf({0, 0, 0});
  const auto y = mt::norm(x);
  CHECK(y.item() == 0);
  y.backward();
  check_close(x.grad(), tensor<double>({0, 0, 0}), 0);
}

TEST_CASE("AC04 AC05 norms whose squares overflow or vanish") {
  CHECK(static_cast<double>(mt::norm(mt::full<float>({100}, 1e20f)).item()) == Approx(1e21).epsilon(1e-6));
  CHECK(static_cast<double>(mt::norm(mt::full<float>({4}, 1e-30f)).item()) == Approx(2e-30).epsilon(1e-6));
  CHECK(mt::norm(mt::full<double>({4}, 1e200)).item() == Approx(2e200).epsilon(1e-12));
  CHECK(mt::norm(mt::full<double>({4}, 1e-200)).item() == Approx(2e-200).epsilon(1e-12));
}

TEST_CASE("AC06 the norm of many small numbers") {
  const auto x = (spread({1 << 20}) * 0.001).to<float>();
  double squares = 0;
  for (float v : x.values()) squares += static_cast<double>(v) * static_cast<double>(v);
  CHECK(static_cast<double>(mt::norm(x).item()) == Approx(std::sqrt(squares)).epsilon(1e-6));
}
