// sigmoid: the logistic function.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/exp.hpp>
#include <minitorch/ops/square.hpp>
#include <minitorch/ops/sub.hpp>

namespace minitorch {

struct Sigmoid : Operation<Sigmoid, Kind::elementwise> {
  using Operation<Sigmoid, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     1 / (1 + e^-x), accurate in both tails
// gradient  dy y (1 - y)
// saves     the result y
inline constexpr Sigmoid sigmoid;

template <Scalar T>
Tensor<T> Sigmoid::operator()(const Tensor<T>& x) const {
  return record<T>("sigmoid", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::sigmoid(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& y) {
                         if (grad_enabled()) return grad_mul(dy, sub(y, square(y)));
                         return detail::fused_grad(
                             "sigmoid gradient", [](const auto& g, const auto& v) { return detail::scaled(g, v * (1 - v)); }, dy, y);
                       },
                       result));
}

}  // namespace minitorch
