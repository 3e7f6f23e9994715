// pow and xlogy: by expect_op and at special points.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/pow.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

TEST_CASE("pow") {
  tests::expect_op(
      {.tolerance = 1e-12, .saved = 1}, [](const auto& x) { return mt::pow(x, 2.5f); }, [](double x) { return std::pow(x, 2.5); },
      spread({3, 4}, 0.5, 2));
  tests::expect_op(
      {.tolerance = 1e-12, .saved = 3}, [](const auto& x, const auto& e) { return mt::pow(x, e); },
      [](double x, double e) { return std::pow(x, e); }, spread({3, 4}, 0.5, 2), spread({3, 4}, 0.5, 3, 2));
}

TEST_CASE("xlogy") {
  tests::expect_op([](const auto& x, const auto& y) { return mt::xlogy(x, y); }, [](double x, double y) { return x * std::log(y); },
                   spread({3, 4}, 0.5, 2), spread({3, 4}, 1.5, 3, 2));
  CHECK(mt::xlogy(mt::scalar<double>(0), mt::scalar<double>(0)).item() == 0);
}

TEST_CASE("KG21 xlogy of 0 and 0") { CHECK(mt::xlogy(mt::scalar<double>(0), mt::scalar<double>(0)).item() == 0); }

TEST_CASE("KG05 KG06 KG08 KG09 powers of 0") {
  const auto power = [](double e) { return tests::at([e](const auto& x) { return mt::pow(x, e); }, 0); };
  CHECK((power(2).value == 0 && power(2).slope == 0));
  CHECK((power(1).value == 0 && power(1).slope == 1));
  CHECK((power(0.5).value == 0 && power(0.5).slope == tests::infinity));
  CHECK((power(-1).value == tests::infinity && power(-1).slope == -tests::infinity));
  CHECK((power(0).value == 1 && power(0).slope == 0));
}

TEST_CASE("KG26 KG27 base and exponent both tensors") {
  const auto both = [](double base, double exponent) {
    auto x = mt::scalar<double>(base), e = mt::scalar<double>(exponent);
    x.set_requires_grad(), e.set_requires_grad();
    const auto y = mt::pow(x, e);
    y.backward();
    return tensor<double>({y.item(), x.grad().item(), e.grad().item()});
  };
  check_close(both(0, 2), tensor<double>({0, 0, 0}), 1e-12);
  check_close(both(-2, 3), tensor<double>({-8, 12, tests::nan_value}), 1e-12);
}
