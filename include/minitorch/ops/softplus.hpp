// softplus and logsigmoid: log(1 + e^x) and its mirror image.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/log.hpp>
#include <minitorch/ops/mul.hpp>
#include <minitorch/ops/sigmoid.hpp>

namespace minitorch {

struct Softplus : Operation<Softplus, Kind::elementwise> {
  using Operation<Softplus, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     log(1 + e^x), accurate in both tails
// gradient  dy sigmoid(x)
// saves     x
inline constexpr Softplus softplus;

struct LogSigmoid : Operation<LogSigmoid, Kind::elementwise> {
  using Operation<LogSigmoid, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     log(sigmoid(x)) = -log(1 + e^-x), accurate in both tails
// gradient  dy sigmoid(-x)
// saves     x
inline constexpr LogSigmoid logsigmoid;

template <Scalar T>
Tensor<T> Softplus::operator()(const Tensor<T>& x) const {
  return record<T>("softplus", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::softplus(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& input) {
                         if (grad_enabled()) return grad_mul(dy, sigmoid(input));
                         return detail::fused_grad(
                             "softplus gradient", [](const auto& g, const auto& v) __attribute__((always_inline)) {
                               return detail::scaled(g, kernels::sigmoid(v));
                             },
                             dy, input);
                       },
                       x));
}

template <Scalar T>
Tensor<T> LogSigmoid::operator()(const Tensor<T>& x) const {
  return record<T>("logsigmoid", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return -kernels::softplus(-v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& input) {
                         if (grad_enabled()) return grad_mul(dy, sigmoid(neg(input)));
                         return detail::fused_grad(
                             "logsigmoid gradient", [](const auto& g, const auto& v) __attribute__((always_inline)) {
                               return detail::scaled(g, kernels::sigmoid(-v));
                             },
                             dy, input);
                       },
                       x));
}

}  // namespace minitorch
