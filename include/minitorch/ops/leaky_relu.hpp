// leaky_relu: x above zero, a fraction of it below.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/pointwise.hpp>

namespace minitorch {

struct LeakyRelu : Operation<LeakyRelu, Kind::elementwise> {
  using Operation<LeakyRelu, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, std::type_identity_t<compute_t<T>> slope = compute_t<T>(0.01)) const;
};
// value     x where x > 0, slope x elsewhere
// gradient  dy where x > 0, slope dy elsewhere
// saves     x
inline constexpr LeakyRelu leaky_relu;

namespace detail {

// Linear in dy, piecewise constant in x.
template <Scalar T>
Tensor<T> leaky_relu_grad(const Tensor<T>& dy, const Tensor<T>& x, compute_t<T> slope) {
  return record<T>("leaky_relu gradient", dy.shape(),
                   pointwise([slope](const auto& g, const auto& v) { return select(v > 0, g, slope * g); }, dy, x),
                   wrt(
                       dy, [](const Tensor<T>& g, const Tensor<T>& at, compute_t<T> s) { return leaky_relu_grad(g, at, s); }, x, slope));
}

}  // namespace detail

template <Scalar T>
Tensor<T> LeakyRelu::operator()(const Tensor<T>& x, std::type_identity_t<compute_t<T>> slope) const {
  return record<T>(
      "leaky_relu", x.shape(), detail::pointwise([slope](const auto& v) { return select(v > 0, v, slope * v); }, x),
      wrt(
          x, [](const Tensor<T>& dy, const Tensor<T>& input, compute_t<T> s) { return detail::leaky_relu_grad(dy, input, s); }, x, slope));
}

}  // namespace minitorch
