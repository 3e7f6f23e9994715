// erf: the error function.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/erf.hpp>
#include <minitorch/ops/exp.hpp>
#include <minitorch/ops/square.hpp>

namespace minitorch {

struct Erf : Operation<Erf, Kind::elementwise> {
  using Operation<Erf, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x
// gradient  2 / sqrt(pi) dy e^(-x^2)
// saves     x
inline constexpr Erf erf;

template <Scalar T>
Tensor<T> Erf::operator()(const Tensor<T>& x) const {
  return record<T>("erf", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::erf(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& input) {
                         if (grad_enabled()) return grad_mul(dy, mul(exp(neg(square(input))), compute_t<T>(1.1283791670955126)));
                         return detail::fused_grad(
                             "erf gradient", [](const auto& g, const auto& v) __attribute__((always_inline)) {
                               return detail::scaled(g, compute_t<T>(1.1283791670955126) * kernels::exp(-(v * v)));
                             },
                             dy, input);
                       },
                       x));
}

}  // namespace minitorch
