// expm1: e^x - 1.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/kernels/math/exp.hpp>
#include <minitorch/ops/grad_mul.hpp>

namespace minitorch {

struct Expm1 : Operation<Expm1, Kind::elementwise> {
  using Operation<Expm1, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     e^x - 1, without cancellation near 0
// gradient  dy (y + 1)
// saves     the result y
inline constexpr Expm1 expm1;

template <Scalar T>
Tensor<T> Expm1::operator()(const Tensor<T>& x) const {
  return record<T>("expm1", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::expm1(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& y) {
                         if (grad_enabled()) return grad_mul(dy, add(y, 1));
                         return detail::fused_grad(
                             "expm1 gradient", [](const auto& g, const auto& v) { return detail::scaled(g, v + 1); }, dy, y);
                       },
                       result));
}

}  // namespace minitorch
