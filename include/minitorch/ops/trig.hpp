// sin and cos.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/kernels/math/trig.hpp>
#include <minitorch/ops/grad_mul.hpp>

namespace minitorch {

struct Sin : Operation<Sin, Kind::elementwise> {
  using Operation<Sin, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     the sine
// gradient  dy cos(x)
// saves     x
inline constexpr Sin sin;

struct Cos : Operation<Cos, Kind::elementwise> {
  using Operation<Cos, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     the cosine
// gradient  -dy sin(x)
// saves     x
inline constexpr Cos cos;

template <Scalar T>
Tensor<T> Sin::operator()(const Tensor<T>& x) const {
  return record<T>("sin", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::sin(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& input) {
                         if (grad_enabled()) return grad_mul(dy, cos(input));
                         return detail::fused_grad(
                             "sin gradient",
                             [](const auto& g, const auto& v) __attribute__((always_inline)) { return detail::scaled(g, kernels::cos(v)); },
                             dy, input);
                       },
                       x));
}

template <Scalar T>
Tensor<T> Cos::operator()(const Tensor<T>& x) const {
  return record<T>(
      "cos", x.shape(),
      detail::pointwise(
          [](const auto& v) __attribute__((always_inline)) { return kernels::cos(v); }, x),
      wrt(
          x,
          [](const Tensor<T>& dy, const Tensor<T>& input) {
            if (grad_enabled()) return grad_mul(dy, neg(sin(input)));
            return detail::fused_grad(
                "cos gradient",
                [](const auto& g, const auto& v) __attribute__((always_inline)) { return detail::scaled(g, -kernels::sin(v)); }, dy, input);
          },
          x));
}

}  // namespace minitorch
