// mse_loss, l1_loss and bce_with_logits: by expect_op; all reductions, no elements, shapes that differ.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/bce_with_logits.hpp>
#include <minitorch/ops/l1_loss.hpp>
#include <minitorch/ops/mse_loss.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

namespace {
template <class F>
auto averaged(F term) {
  return [term](const Tensor<double>& a, const Tensor<double>& b) {
    double total = 0;
    for (std::int64_t i = 0; i < a.numel(); ++i) total += term(a.data()[i], b.data()[i]);
    return mt::scalar<double>(total / static_cast<double>(a.numel()));
  };
}
}  // namespace

TEST_CASE("mse_loss, l1_loss and bce_with_logits") {
  tests::expect_op(
      {.tolerance = 1e-12, .saved = 1}, [](const auto& a, const auto& b) { return mt::mse_loss(a, b); },
      averaged([](double a, double b) { return (a - b) * (a - b); }), spread({3, 4}), spread({3, 4}, -1, 3, 2));
  tests::expect_op(
      {.tolerance = 1e-12, .saved = 1, .same_twice = false}, [](const auto& a, const auto& b) { return mt::l1_loss(a, b); },
      averaged([](double a, double b) { return std::abs(a - b); }), spread({3, 4}), spread({3, 4}, -1, 3, 2));
  tests::expect_op(
      {.tolerance = 1e-12, .saved = 2}, [](const auto& x, const auto& t) { return mt::bce_with_logits(x, t); },
      averaged([](double x, double t) { return t * std::log1p(std::exp(-x)) + (1 - t) * std::log1p(std::exp(x)); }), spread({3, 4}),
      spread({3, 4}, 0, 1, 2));
}

TEST_CASE("sums, and losses as they are") {
  const auto a = tensor<double>({1, 2}), b = tensor<double>({3, 5});
  CHECK(mt::mse_loss(a, b, mt::LossReduction::sum).item() == 13);
  check_close(mt::mse_loss(a, b, mt::LossReduction::none), tensor<double>({4, 9}), 0);
}

TEST_CASE("mse_loss of nothing, and of shapes that differ") {
  const auto none = mt::zeros<double>({0, 3});
  CHECK(std::isnan(mt::mse_loss(none, none).item()));
  CHECK(mt::mse_loss(none, none, mt::LossReduction::sum).item() == 0);
  CHECK_THROWS_AS(mt::mse_loss(mt::zeros<double>({3, 1}), mt::zeros<double>({3})), mt::ShapeError);
}
