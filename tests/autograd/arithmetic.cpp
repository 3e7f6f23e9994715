// What the engine itself records, by expect_op: add, matmul, expand, sum_to, reshape, slices, rows.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/arithmetic.hpp>

#include <minitorch/autograd/autograd.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::Tensor;
using tests::spread;

TEST_CASE("add") {
  tests::expect_op(
      {.saved = 0}, [](const auto& a, const auto& b) { return mt::add(a, b); }, [](double a, double b) { return a + b; }, spread({3, 4}),
      spread({3, 4}, -1, 3, 2));
  tests::expect_op(
      {.saved = 0}, [](const auto& a) { return mt::add(a, 1.5f); }, [](double a) { return a + 1.5; }, spread({3, 4}));
}

TEST_CASE("matmul") {
  const auto by_loops = [](const Tensor<double>& a, const Tensor<double>& b) {
    Tensor<double> out = mt::zeros<double>({2, 3, 3});
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t j = 0; j < 3; ++j)
          for (std::int64_t k = 0; k < 4; ++k)
            out.mutable_data()[(n * 3 + i) * 3 + j] += a.data()[(n * 3 + i) * 4 + k] * b.data()[(n * 3 + j) * 4 + k];
    return out;
  };
  tests::expect_op(
      {.tolerance = 1e-12, .saved = 2}, [](const auto& a, const auto& b) { return mt::matmul(a, b, {.b = true}); }, by_loops,
      spread({2, 3, 4}), spread({2, 3, 4}, -1, 1, 2));
}

TEST_CASE("expand and sum_to") {
  tests::expect_op(
      {.saved = 0},
      [](const auto& x) {
        return mt::expand(x, {2, 3, 4});
      },
      [](const Tensor<double>& x) {
        Tensor<double> out = mt::zeros<double>({2, 3, 4});
        for (std::int64_t i = 0; i < 24; ++i) out.mutable_data()[i] = x.data()[i % 12 / 4];
        return out;
      },
      spread({3, 1}));
  tests::expect_op(
      {.tolerance = 1e-12, .saved = 0},
      [](const auto& x) {
        return mt::sum_to(x, {3, 1});
      },
      [](const Tensor<double>& x) {
        Tensor<double> out = mt::zeros<double>({3, 1});
        for (std::int64_t i = 0; i < 24; ++i) out.mutable_data()[i % 12 / 4] += x.data()[i];
        return out;
      },
      spread({2, 3, 4}));
}

TEST_CASE("views: reshape, slice, one row") {
  const auto part = [](std::int64_t first, const mt::Shape& shape) {
    return [=](const Tensor<double>& x) {
      return mt::from_values<double>(x.values().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(shape.numel())), shape);
    };
  };
  tests::expect_op(
      {.saved = 0},
      [](const auto& x) {
        return x.reshape({2, -1});
      },
      part(0, {2, 6}), spread({4, 3}));
  tests::expect_op(
      {.saved = 0}, [](const auto& x) { return x.slice(1, 3); }, part(3, {2, 3}), spread({4, 3}));
  tests::expect_op(
      {.saved = 0}, [](const auto& x) { return x[2]; }, part(6, {3}), spread({4, 3}));
}

TEST_CASE("HP16 a one below the last place is lost when the sum is rounded") {
  CHECK(static_cast<float>(mt::add(mt::full<mt::half>({1}, mt::half(2048.f)), 1).item()) == 2048.f);
  CHECK(static_cast<float>(mt::add(mt::full<mt::half>({1}, mt::half(2048.f)), mt::ones<mt::half>({1})).item()) == 2048.f);
  CHECK(static_cast<float>(mt::add(mt::full<mt::bfloat16>({1}, mt::bfloat16(256.f)), 1).item()) == 256.f);
  CHECK(static_cast<float>(mt::add(mt::full<mt::bfloat16>({1}, mt::bfloat16(256.f)), mt::ones<mt::bfloat16>({1})).item()) == 256.f);
}
