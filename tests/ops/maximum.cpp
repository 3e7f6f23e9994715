// maximum, minimum, fmax, where, masked_fill and comparisons: by expect_op; ties, NaN and infinite slopes.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/clamp.hpp>
#include <minitorch/ops/compare.hpp>
#include <minitorch/ops/exp.hpp>
#include <minitorch/ops/masked.hpp>
#include <minitorch/ops/maximum.hpp>
#include <minitorch/ops/softmax.hpp>
#include <minitorch/ops/sum.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

TEST_CASE("maximum and minimum") {
  tests::expect_op(
      {.saved = 2, .same_twice = false}, [](const auto& a, const auto& b) { return mt::maximum(a, b); },
      [](double a, double b) { return a > b ? a : b; }, spread({3, 4}), spread({3, 4}, -1, 3, 2));
  tests::expect_op(
      {.saved = 2, .same_twice = false}, [](const auto& a, const auto& b) { return mt::minimum(a, b); },
      [](double a, double b) { return a < b ? a : b; }, spread({3, 4}), spread({3, 4}, -1, 3, 2));
}

TEST_CASE("fmax") {
  tests::expect_op(
      {.saved = 2, .same_twice = false}, [](const auto& a, const auto& b) { return mt::fmax(a, b); },
      [](double a, double b) { return a > b ? a : b; }, spread({3, 4}), spread({3, 4}, -1, 3, 2));
}

TEST_CASE("where and masked_fill") {
  const auto mask = tensor<bool>({{true, false, true, true}, {false, false, true, false}, {true, true, false, false}});
  const auto right = [mask](const Tensor<double>& a, const Tensor<double>& b) {
    Tensor<double> out = a.detach().clone();
    for (std::int64_t i = 0; i < 12; ++i)
      if (!mask.data()[i]) out.mutable_data()[i] = b.data()[i];
    return out;
  };
  tests::expect_op(
      {.saved = 1}, [mask](const auto& a, const auto& b) { return mt::where(mask, a, b); }, right, spread({3, 4}),
      spread({3, 4}, -1, 3, 2));
  tests::expect_op(
      {.saved = 1}, [mask](const auto& a) { return mt::masked_fill(a, mask, 2); },
      [=](const Tensor<double>& a) {
        return right(mt::full<double>({3, 4}, 2), a);
      },
      spread({3, 4}));
}

TEST_CASE("NN05 KG30 maximum keeps NaN, fmax avoids it, ties share") {
  const auto x = tensor<double>({1, tests::nan_value, 2}), zero = mt::zeros<double>({3});
  check_close(mt::maximum(x, zero), tensor<double>({1, tests::nan_value, 2}));
  check_close(mt::fmax(x, zero), tensor<double>({1, 0, 2}));
  auto a = mt::scalar<double>(1), b = mt::scalar<double>(1);
  a.set_requires_grad(), b.set_requires_grad();
  mt::maximum(a, b).backward();
  CHECK(a.grad().item() == 0.5);
  CHECK(b.grad().item() == 0.5);
}

TEST_CASE("KG32 clamp at its bound passes all, minimum at a tie half") {
  CHECK(tests::at([](const auto& x) { return mt::clamp(x, -tests::infinity, 5); }, 5).slope == 1);
  CHECK(tests::at([](const auto& x) { return mt::minimum(x, mt::scalar<double>(5)); }, 5).slope == 0.5);
}

TEST_CASE("NN14 what where does not choose has no gradient, however steep") {
  auto a = mt::scalar<float>(100);
  a.set_requires_grad();
  const auto y = mt::where(a <= 0, mt::exp(a), 1 + a);
  CHECK(y.item() == 101);
  y.backward();
  CHECK(a.grad().item() == 1);
}

TEST_CASE("NN16 where selects") {
  auto x = tensor<double>({1, 2}), y = tensor<double>({3, 4});
  x.set_requires_grad(), y.set_requires_grad();
  mt::sum(mt::where(tensor<bool>({true, false}), x, y)).backward();
  check_close(x.grad(), tensor<double>({1, 0}), 0);
  check_close(y.grad(), tensor<double>({0, 1}), 0);
}

TEST_CASE("NN17 softmax of masked scores") {
  auto x = tensor<double>({-1, 2});
  x.set_requires_grad();
  const auto y = mt::softmax(mt::masked_fill(x, tensor<bool>({true, false}), -tests::infinity));
  check_close(y.detach(), tensor<double>({0, 1}), 0);
  mt::sum(y).backward();
  check_close(x.grad(), tensor<double>({0, 0}), 0);
}

TEST_CASE("comparisons") {
  const auto a = tensor<double>({1, 2, tests::nan_value}), b = tensor<double>({2, 2, 2});
  const auto as_numbers = [](const Tensor<bool>& x) { return mt::where(x, mt::ones<double>({3}), 0); };
  check_close(as_numbers(a < b), tensor<double>({1, 0, 0}), 0);
  check_close(as_numbers(a <= b), tensor<double>({1, 1, 0}), 0);
  check_close(as_numbers(a > 1), tensor<double>({0, 1, 0}), 0);
  check_close(as_numbers(a >= b), tensor<double>({0, 1, 0}), 0);
  check_close(as_numbers(a == b), tensor<double>({0, 1, 0}), 0);
  check_close(as_numbers(a != 2), tensor<double>({1, 0, 1}), 0);
  check_close(as_numbers(tensor<std::int64_t>({3, 1, 3}) == 3), tensor<double>({1, 0, 1}), 0);
}
