// div: the elementwise quotient of two tensors, or of a tensor and a number.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/grad_mul.hpp>

namespace minitorch {

struct Div : Operation<Div, Kind::quotient> {
  using Operation<Div, Kind::quotient>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& a, const Tensor<T>& b) const;
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& a, std::type_identity_t<compute_t<T>> b) const;
  template <Scalar T>
  Tensor<T> operator()(std::type_identity_t<compute_t<T>> a, const Tensor<T>& b) const;
};
// value     a / b, broadcast
// gradient  dy / b, -dy y / b
// saves     b and the result y
inline constexpr Div div;

namespace detail {
// The gradient of y = a / b with respect to b.
inline constexpr auto quotient_rule = []<Scalar T>(const Tensor<T>& dy, const Tensor<T>& b, const Tensor<T>& y) {
  return neg(grad_mul(grad_div(dy, b), y));
};
}  // namespace detail

template <Scalar T>
Tensor<T> Div::operator()(const Tensor<T>& a, const Tensor<T>& b) const {
  const Shape shape = detail::common_shape(a.shape(), b.shape(), "div");
  return record<T>(
      "div", shape,
      [&](T* out) {
        detail::map_pair(
            shape, [](const auto& x, const auto& y) { return x / y; }, out, a, b);
      },
      wrt(
          a, [](const Tensor<T>& dy, const Tensor<T>& divisor) { return grad_div(dy, divisor); }, b),
      wrt(b, detail::quotient_rule, b, result));
}

template <Scalar T>
Tensor<T> Div::operator()(const Tensor<T>& a, std::type_identity_t<compute_t<T>> b) const {
  return record<T>("div", a.shape(), detail::pointwise([b](const auto& x) { return x / b; }, a),
                   wrt(
                       a, [](const Tensor<T>& dy, compute_t<T> divisor) { return div(dy, divisor); }, b));
}

template <Scalar T>
Tensor<T> Div::operator()(std::type_identity_t<compute_t<T>> a, const Tensor<T>& b) const {
  return record<T>("div", b.shape(), detail::pointwise([a](const auto& y) { return a / y; }, b), wrt(b, detail::quotient_rule, b, result));
}

}  // namespace minitorch
