// rsqrt: 1 / sqrt(x).
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/kernels/math/basic.hpp>
#include <minitorch/ops/square.hpp>

namespace minitorch {

struct Rsqrt : Operation<Rsqrt, Kind::elementwise> {
  using Operation<Rsqrt, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     1 / sqrt(x)
// gradient  -dy y^3 / 2
// saves     the result y
inline constexpr Rsqrt rsqrt;

template <Scalar T>
Tensor<T> Rsqrt::operator()(const Tensor<T>& x) const {
  return record<T>("rsqrt", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::rsqrt(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& y) {
                         if (grad_enabled()) return grad_mul(dy, mul(mul(square(y), y), compute_t<T>(-0.5)));
                         return detail::fused_grad(
                             "rsqrt gradient",
                             [](const auto& g, const auto& v) { return detail::scaled(g, compute_t<T>(-0.5) * (v * v * v)); }, dy, y);
                       },
                       result));
}

}  // namespace minitorch
