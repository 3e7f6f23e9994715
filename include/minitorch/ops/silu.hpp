// silu: x sigmoid(x), also called swish.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/activation.hpp>
#include <minitorch/ops/clamp.hpp>
#include <minitorch/ops/sigmoid.hpp>

namespace minitorch {

struct Silu : Operation<Silu, Kind::elementwise> {
  using Operation<Silu, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     x s with s = sigmoid(x)
// gradient  dy s (1 + x (1 - s))
// saves     x
inline constexpr Silu silu;

namespace detail {
inline constexpr double silu_bound = 800;  // beyond, the slopes are 0 and 1 in every type
}

template <Scalar T>
Tensor<T> Silu::operator()(const Tensor<T>& x) const {
  return record<T>("silu", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::silu(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& input) {
                         if (grad_enabled()) {
                           const Tensor<T> s = sigmoid(input);
                           return grad_mul(dy, mul(s, add(mul(clamp(input, -detail::silu_bound, detail::silu_bound), sub(1, s)), 1)));
                         }
                         return detail::fused_grad(
                             "silu gradient", [](const auto& g, const auto& v) __attribute__((always_inline)) {
                               const auto s = kernels::sigmoid(v);
                               return detail::scaled(g, s * (1 + kernels::within(v, detail::silu_bound) * (1 - s)));
                             },
                             dy, input);
                       },
                       x));
}

}  // namespace minitorch
