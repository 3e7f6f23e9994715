// prod, cumsum and cumprod: by expect_op; zeros among the factors.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/cumsum.hpp>
#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/prod.hpp>
#include <minitorch/ops/sum.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

namespace {
template <class F>
Tensor<double> gradient(F f, std::initializer_list<double> values) {
  auto x = tensor<double>(values);
  x.set_requires_grad();
  mt::sum(f(x)).backward();
  return x.grad();
}
const auto product = [](const auto& x) { return mt::prod(x); };

template <class F>
auto running(F f) {  // along the first of two dimensions
  return [f](const Tensor<double>& x) {
    Tensor<double> out = x.detach().clone();
    for (std::int64_t i = x.size(1); i < x.numel(); ++i) out.mutable_data()[i] = f(out.data()[i - x.size(1)], x.data()[i]);
    return out;
  };
}
}  // namespace

TEST_CASE("prod") {
  tests::expect_op(
      {.tolerance = 1e-12, .saved = 1}, [](const auto& x) { return mt::prod(x, 1); },
      [](const Tensor<double>& x) {
        Tensor<double> out = mt::ones<double>({2});
        for (std::int64_t i = 0; i < 6; ++i) out.mutable_data()[i / 3] *= x.data()[i];
        return out;
      },
      spread({2, 3}, 0.5, 2));
}

TEST_CASE("cumsum and cumprod") {
  tests::expect_op(
      {.saved = 0}, [](const auto& x) { return mt::cumsum(x, 0); }, running([](double a, double b) { return a + b; }),
      spread({4, 2}, 0.5, 2));
  tests::expect_op(
      {.tolerance = 1e-12, .saved = 1}, [](const auto& x) { return mt::cumprod(x, 0); }, running([](double a, double b) { return a * b; }),
      spread({4, 2}, 0.5, 2));
}

TEST_CASE("KG34 KG35 KG37 products with zeros") {
  check_close(gradient(product, {2, 0, 3, 4}), tensor<double>({0, 24, 0, 0}), 0);
  check_close(gradient(product, {0, 0, 3}), tensor<double>({0, 0, 0}), 0);
  check_close(gradient([](const auto& x) { return mt::prod(x, 0); }, {0}), tensor<double>({1}), 0);
  auto x = tensor<double>({2, 3, 0, 0});
  x.set_requires_grad();
  const auto first = mt::grad(mt::prod(x), x, {.create_graph = true});
  check_close(mt::grad(mt::sum(first), x), tensor<double>({0, 0, 6, 6}), 0);  // the row sums of the Hessian
}

TEST_CASE("KG36 cumprod with a zero") {
  check_close(gradient([](const auto& x) { return mt::cumprod(x, 0); }, {2, 0, 3, 4}), tensor<double>({1, 32, 0, 0}), 0);
}
