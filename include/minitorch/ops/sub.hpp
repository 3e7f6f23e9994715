// sub: the difference of two tensors, or of a tensor and a number.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/neg.hpp>

namespace minitorch {

struct Sub : Operation<Sub, Kind::addition> {
  using Operation<Sub, Kind::addition>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& a, const Tensor<T>& b) const;
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& a, std::type_identity_t<compute_t<T>> b) const;
  template <Scalar T>
  Tensor<T> operator()(std::type_identity_t<compute_t<T>> a, const Tensor<T>& b) const;
};
// value     a - b, broadcast
// gradient  dy, -dy
// saves     nothing
inline constexpr Sub sub;

template <Scalar T>
Tensor<T> Sub::operator()(const Tensor<T>& a, const Tensor<T>& b) const {
  const Shape shape = detail::common_shape(a.shape(), b.shape(), "sub");
  return record<T>(
      "sub", shape,
      [&](T* out) {
        detail::map_pair(
            shape, [](const auto& x, const auto& y) { return x - y; }, out, a, b);
      },
      wrt(a, pass_on), wrt(b, [](const Tensor<T>& dy) { return neg(dy); }));
}

template <Scalar T>
Tensor<T> Sub::operator()(const Tensor<T>& a, std::type_identity_t<compute_t<T>> b) const {
  return add(a, -b);
}

template <Scalar T>
Tensor<T> Sub::operator()(std::type_identity_t<compute_t<T>> a, const Tensor<T>& b) const {
  return record<T>("sub", b.shape(), detail::pointwise([a](const auto& y) { return a - y; }, b),
                   wrt(b, [](const Tensor<T>& dy) { return neg(dy); }));
}

}  // namespace minitorch
