// linear: by expect_op; mixed precision, no inputs, what a residual block saves.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/gelu.hpp>
#include <minitorch/ops/linear.hpp>
#include <minitorch/ops/mean.hpp>
#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/square.hpp>
#include <minitorch/ops/sum.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

namespace {
const auto right = [](const Tensor<double>& x, const Tensor<double>& w, const Tensor<double>& b) {
  Tensor<double> out = mt::zeros<double>({2, 3, 5});
  for (std::int64_t r = 0; r < 6; ++r)
    for (std::int64_t o = 0; o < 5; ++o) {
      double sum = b.data()[o];
      for (std::int64_t i = 0; i < 4; ++i) sum += x.data()[r * 4 + i] * w.data()[o * 4 + i];
      out.mutable_data()[r * 5 + o] = sum;
    }
  return out;
};
}  // namespace

TEST_CASE("linear") {
  tests::expect_op(
      {.tolerance = 1e-11, .saved = 2, .same_twice = false},
      [](const auto& x, const auto& w, const auto& b) { return mt::linear(x, w, b); }, right, spread({2, 3, 4}), spread({5, 4}, -1, 1, 2),
      spread({5}, -1, 1, 3));
  tests::expect_op(
      {.tolerance = 1e-11, .saved = 2, .same_twice = false}, [](const auto& x, const auto& w) { return mt::linear(x, w); },
      [](const Tensor<double>& x, const Tensor<double>& w) { return right(x, w, mt::zeros<double>({5})); }, spread({2, 3, 4}),
      spread({5, 4}, -1, 1, 2));
}

TEST_CASE("bfloat16 activations, float parameters and gradients") {
  auto x = spread({3, 8}).to<mt::bfloat16>();
  auto w = spread({4, 8}, -1, 1, 2).to<float>().detach(), b = spread({4}, -1, 1, 3).to<float>().detach();
  x.set_requires_grad(), w.set_requires_grad(), b.set_requires_grad();
  const Tensor<mt::bfloat16> y = mt::linear(x, w, b);
  y.backward(mt::ones<mt::bfloat16>({3, 4}));
  const Tensor<float> dw = w.grad(), db = b.grad();
  check_close(db.to<double>(), mt::full<double>({4}, 3), 0);
  for (std::int64_t i = 0; i < 8; ++i) {
    double sum = 0;
    for (std::int64_t r = 0; r < 3; ++r) sum += static_cast<double>(static_cast<float>(x.data()[r * 8 + i]));
    CHECK(static_cast<double>(dw.data()[i]) == Approx(sum).epsilon(1e-6));
  }
}

TEST_CASE("ZS05 no input features leave the bias") {
  const auto y = mt::linear(mt::zeros<double>({2, 0}), mt::zeros<double>({3, 0}), tensor<double>({0, 1, 2}));
  check_close(y, tensor<double>({{0, 1, 2}, {0, 1, 2}}), 0);
}

TEST_CASE("shapes that do not fit") {
  CHECK_THROWS_WITH(mt::linear(spread({2, 3}), spread({5, 4})), Catch::Contains("[2, 3]") && Catch::Contains("[5, 4]"));
  CHECK_THROWS_AS(mt::linear(spread({2, 4}), spread({5, 4}), spread({4})), mt::ShapeError);
}

TEST_CASE("a residual block saves its input, the pre-activation and the activation") {
  auto x = spread({16, 64});
  auto w1 = spread({256, 64}), b1 = spread({256}), w2 = spread({64, 256}), b2 = spread({64});
  for (auto* t : {&x, &w1, &b1, &w2, &b2}) t->set_requires_grad();
  const mt::SavedMeter meter;
  const auto y = x + mt::linear(mt::gelu(mt::linear(x, w1, b1)), w2, b2);
  const auto loss = mt::mean(mt::square(y));
  const mt::AnyTensor parameters[] = {w1, b1, w2, b2};
  CHECK(meter.bytes(parameters) == 8192 + 32768 + 32768 + 8192);
}
