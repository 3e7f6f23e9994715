// Products and quotients of gradients with local slopes. A zero coming in stays zero, whatever the slope.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/neg.hpp>
#include <minitorch/ops/pointwise.hpp>

namespace minitorch {

// value     dy s, broadcast; 0 where dy is 0
// gradient  grad_mul(g, s), grad_mul(g, dy)
// saves     each for the other
template <Scalar T>
Tensor<T> grad_mul(const Tensor<T>& dy, const Tensor<T>& s) {
  constexpr auto rule = [](const Tensor<T>& g, const Tensor<T>& other) { return grad_mul(g, other); };
  const Shape shape = detail::common_shape(dy.shape(), s.shape(), "grad_mul");
  return record<T>(
      "grad_mul", shape,
      [&](T* out) {
        detail::map_pair(
            shape, [](const auto& g, const auto& slope) { return detail::scaled(g, slope); }, out, dy, s);
      },
      wrt(dy, rule, s), wrt(s, rule, dy));
}

// value     dy / s, broadcast; 0 where dy is 0
// gradient  grad_div(g, s), -grad_mul(g, dy / s^2)
// saves     s, dy
template <Scalar T>
Tensor<T> grad_div(const Tensor<T>& dy, const Tensor<T>& s) {
  const Shape shape = detail::common_shape(dy.shape(), s.shape(), "grad_div");
  return record<T>(
      "grad_div", shape,
      [&](T* out) {
        detail::map_pair(
            shape, [](const auto& g, const auto& slope) { return select(g == 0, g, g / slope); }, out, dy, s);
      },
      wrt(
          dy, [](const Tensor<T>& g, const Tensor<T>& slope) { return grad_div(g, slope); }, s),
      wrt(
          s,
          [](const Tensor<T>& g, const Tensor<T>& numerator, const Tensor<T>& slope) {
            return neg(grad_mul(g, grad_div(grad_div(numerator, slope), slope)));
          },
          dy, s));
}

}  // namespace minitorch
