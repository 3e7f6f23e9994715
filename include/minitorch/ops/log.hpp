// log and log1p: natural logarithms.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/kernels/math/log.hpp>
#include <minitorch/ops/grad_mul.hpp>

namespace minitorch {

struct Log : Operation<Log, Kind::elementwise> {
  using Operation<Log, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     the natural logarithm
// gradient  dy / x
// saves     x
inline constexpr Log log;

struct Log1p : Operation<Log1p, Kind::elementwise> {
  using Operation<Log1p, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     log(1 + x), without cancellation near 0
// gradient  dy / (1 + x)
// saves     x
inline constexpr Log1p log1p;

template <Scalar T>
Tensor<T> Log::operator()(const Tensor<T>& x) const {
  return record<T>("log", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::log(v); }, x),
                   wrt(
                       x, [](const Tensor<T>& dy, const Tensor<T>& input) { return grad_div(dy, input); }, x));
}

template <Scalar T>
Tensor<T> Log1p::operator()(const Tensor<T>& x) const {
  return record<T>("log1p", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::log1p(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& input) {
                         if (grad_enabled()) return grad_div(dy, add(input, 1));
                         return detail::fused_grad(
                             "log1p gradient", [](const auto& g, const auto& v) { return select(g == 0, g, g / (v + 1)); }, dy, input);
                       },
                       x));
}

}  // namespace minitorch
