// log, log1p, expm1, softplus and logsigmoid: by expect_op and at special points.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/expm1.hpp>
#include <minitorch/ops/log.hpp>
#include <minitorch/ops/softplus.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

TEST_CASE("log and log1p") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::log(x); }, [](double x) { return std::log(x); }, spread({3, 5}, 0.2, 4));
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::log1p(x); }, [](double x) { return std::log1p(x); }, spread({3, 5}, -0.5, 3));
}

TEST_CASE("expm1") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::expm1(x); }, [](double x) { return std::expm1(x); }, spread({3, 5}));
}

TEST_CASE("softplus and logsigmoid") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::softplus(x); }, [](double x) { return std::log1p(std::exp(x)); }, spread({3, 5}));
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::logsigmoid(x); }, [](double x) { return -std::log1p(std::exp(-x)); }, spread({3, 5}));
}

TEST_CASE("KG17 KG18 softplus far from zero") {
  const auto far = tests::at([](const auto& x) { return mt::softplus(x); }, 1000);
  CHECK(far.value == 1000);
  CHECK(far.slope == 1);
  CHECK(mt::softplus(mt::scalar<double>(-40)).item() == Approx(4.248354255291589e-18).epsilon(1e-12));
}

TEST_CASE("KG19 logsigmoid far below zero") {
  const auto far = tests::at([](const auto& x) { return mt::logsigmoid(x); }, -1000);
  CHECK(far.value == -1000);
  CHECK(far.slope == 1);
}

TEST_CASE("KG23 KG24 expm1 and log1p near zero") {
  const auto e = tests::at([](const auto&x) { return mt::expm1(x); }, 1e-10),
             l = tests::at([](const auto&x) { return mt::log1p(x); }, 1e-10);
  CHECK(e.value == Approx(1.00000000005e-10).epsilon(1e-14));
  CHECK(e.slope == Approx(1.0000000001).epsilon(1e-14));
  CHECK(l.value == Approx(9.9999999995e-11).epsilon(1e-14));
  CHECK(l.slope == Approx(0.9999999999).epsilon(1e-14));
}
