// mul: the elementwise product of two tensors, or of a tensor and a number.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/grad_mul.hpp>

namespace minitorch {

struct Mul : Operation<Mul, Kind::product> {
  using Operation<Mul, Kind::product>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& a, const Tensor<T>& b) const;
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& a, std::type_identity_t<compute_t<T>> b) const;
};
// value     a b, broadcast
// gradient  dy b, dy a
// saves     each operand for the gradient of the other
inline constexpr Mul mul;

template <Scalar T>
Tensor<T> Mul::operator()(const Tensor<T>& a, const Tensor<T>& b) const {
  constexpr auto rule = [](const Tensor<T>& dy, const Tensor<T>& other) { return grad_mul(dy, other); };
  const Shape shape = detail::common_shape(a.shape(), b.shape(), "mul");
  return record<T>(
      "mul", shape,
      [&](T* out) {
        detail::map_pair(
            shape, [](const auto& x, const auto& y) { return x * y; }, out, a, b);
      },
      wrt(a, rule, b), wrt(b, rule, a));
}

template <Scalar T>
Tensor<T> Mul::operator()(const Tensor<T>& a, std::type_identity_t<compute_t<T>> b) const {
  return record<T>("mul", a.shape(), detail::pointwise([b](const auto& x) { return x * b; }, a),
                   wrt(
                       a, [](const Tensor<T>& dy, compute_t<T> factor) { return mul(dy, factor); }, b));
}

}  // namespace minitorch
