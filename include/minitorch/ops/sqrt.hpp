// sqrt: the square root.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/kernels/math/basic.hpp>
#include <minitorch/ops/mul.hpp>

namespace minitorch {

struct Sqrt : Operation<Sqrt, Kind::elementwise> {
  using Operation<Sqrt, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     the square root, correctly rounded in float and double
// gradient  dy / (2 y)
// saves     the result y
inline constexpr Sqrt sqrt;

template <Scalar T>
Tensor<T> Sqrt::operator()(const Tensor<T>& x) const {
  return record<T>("sqrt", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::sqrt(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& y) {
                         if (grad_enabled()) return grad_div(dy, mul(y, 2));
                         return detail::fused_grad(
                             "sqrt gradient", [](const auto& g, const auto& v) { return select(g == 0, g, g / (v + v)); }, dy, y);
                       },
                       result));
}

}  // namespace minitorch
