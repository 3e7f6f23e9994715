// tanh: the hyperbolic tangent.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/exp.hpp>
#include <minitorch/ops/square.hpp>
#include <minitorch/ops/sub.hpp>

namespace minitorch {

struct Tanh : Operation<Tanh, Kind::elementwise> {
  using Operation<Tanh, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     tanh(x)
// gradient  dy (1 - y^2)
// saves     the result y
inline constexpr Tanh tanh;

template <Scalar T>
Tensor<T> Tanh::operator()(const Tensor<T>& x) const {
  return record<T>("tanh", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::tanh(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& y) {
                         if (grad_enabled()) return grad_mul(dy, sub(1, square(y)));
                         return detail::fused_grad(
                             "tanh gradient", [](const auto& g, const auto& v) { return detail::scaled(g, 1 - v * v); }, dy, y);
                       },
                       result));
}

}  // namespace minitorch
