// layer_norm and rms_norm: by expect_op; constant rows, offsets, squares that overflow, low precision.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/layer_norm.hpp>
#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/sum.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

namespace {

Tensor<double> reference(const Tensor<double>& x, const Tensor<double>* weight, const Tensor<double>* bias, bool centred) {
  Tensor<double> out = x.detach().clone();
  const std::int64_t n = x.shape().back();
  for (double *row = out.mutable_data(), *end = row + out.numel(); row != end; row += n) {
    double mean = 0, square = 0;
    for (std::int64_t i = 0; i < n && centred; ++i) mean += row[i] / static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i) square += (row[i] - mean) * (row[i] - mean) / static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i)
      row[i] = (row[i] - mean) / std::sqrt(square + 1e-5) * (weight ? weight->data()[i] : 1) + (bias ? bias->data()[i] : 0);
  }
  return out;
}

template <class T>
Tensor<T> normalised(const Tensor<T>& x, double eps = 1e-5) {
  return mt::layer_norm(x, Tensor<T>{}, Tensor<T>{}, eps);
}

}  // namespace

TEST_CASE("layer_norm") {
  tests::expect_op(
      {.tolerance = 1e-12, .saved = 5, .same_twice = false},
      [](const auto& x, const auto& w, const auto& b) { return mt::layer_norm(x, w, b); },
      [](const Tensor<double>& x, const Tensor<double>& w, const Tensor<double>& b) { return reference(x, &w, &b, true); },
      spread({2, 3, 7}), spread({7}, 0.5, 1.5), spread({7}, -1, 1));
  tests::expect_op(
      {.tolerance = 1e-12}, [](const auto& x) { return normalised(x); },
      [](const Tensor<double>& x) { return reference(x, nullptr, nullptr, true); }, spread({3, 5}));
}

TEST_CASE("rms_norm") {
  tests::expect_op(
      {.tolerance = 1e-12, .saved = 3, .same_twice = false}, [](const auto& x, const auto& w) { return mt::rms_norm(x, w); },
      [](const Tensor<double>& x, const Tensor<double>& w) { return reference(x, &w, nullptr, false); }, spread({4, 9}),
      spread({9}, 0.5, 1.5));
}

TEST_CASE("LN02 a row without variance") {
  auto x = tensor<double>({2, 2, 2, 2});
  x.set_requires_grad();
  const auto y = normalised(x);
  check_close(y.detach(), mt::zeros<double>({4}), 0);
  mt::sum(y * tensor<double>({1, 2, 3, 4})).backward();
  check_close(x.grad(), tensor<double>({-474.34164902525686, -158.11388300841895, 158.11388300841895, 474.34164902525686}));
}

TEST_CASE("LN03 a constant row in float is exactly zero") {
  check_close(normalised(tensor<float>({14, 14}), 1e-6).to<double>(), mt::zeros<double>({2}), 0);
}

TEST_CASE("LN04 a large offset in float") {
  const auto right = tensor<double>({-1.3416354, -0.4472118, 0.4472118, 1.3416354});
  for (float offset : {1e4f, 1e6f}) check_close(normalised(tensor<float>({1, 2, 3, 4}) + offset).to<double>(), right, 1e-6);
}

TEST_CASE("LN05 squares that overflow float") {
  const auto right = tensor<double>({1.7320508, -0.57735027, -0.57735027, -0.57735027});
  check_close(normalised(tensor<float>({1e30f, 0, 0, 0})).to<double>(), right, 1e-6);
}

TEST_CASE("LN06 rows of one element") {
  auto x = tensor<double>({{3}});
  x.set_requires_grad();
  const auto y = normalised(x);
  CHECK(y.item() == 0);
  y.backward();
  CHECK(x.grad().item() == 0);
}

TEST_CASE("LN07 a small spread around a large mean") {
  const auto x = (tests::spread({32768}, -1, 1) * 0.01 + 100.0).to<float>();
  const auto wide = x.to<double>();
  const double variance = mt::mean(mt::square(wide - mt::mean(wide))).item();
  const double rstd =
      static_cast<double>((normalised(x, 0.0).data()[1] - normalised(x, 0.0).data()[0])) / (wide.data()[1] - wide.data()[0]);
  CHECK(1 / (rstd * rstd) == Approx(variance).epsilon(1e-3));
}

TEST_CASE("LN08 bfloat16 with statistics in a wide type is rounded once") {
  const auto y = normalised(tensor<float>({1, 2, 3, 4}).to<mt::bfloat16>());
  check_close(y.to<double>(), tensor<double>({-1.34375, -0.447265625, 0.447265625, 1.34375}), 0);
}

TEST_CASE("bfloat16 activations with float parameters have float gradients") {
  const auto x = spread({4, 8}).to<mt::bfloat16>();
  auto w = mt::ones<float>({8}), b = mt::zeros<float>({8});
  w.set_requires_grad(), b.set_requires_grad();
  const Tensor<mt::bfloat16> y = mt::layer_norm(x, w, b);
  mt::sum(y.to<float>()).backward();
  const Tensor<float> dw = w.grad(), db = b.grad();
  check_close(db.to<double>(), mt::full<double>({8}, 4), 0);
  CHECK(std::isfinite(dw.data()[0]));
}
