// relu: the positive part.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/activation.hpp>
#include <minitorch/ops/pointwise.hpp>

namespace minitorch {

struct Relu : Operation<Relu, Kind::elementwise> {
  using Operation<Relu, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     x where x > 0, else 0; NaN stays NaN
// gradient  dy where x > 0, else 0
// saves     the result
inline constexpr Relu relu;

namespace detail {

// dy where y is not zero or less; linear in dy, piecewise constant in y.
template <Scalar T>
Tensor<T> relu_grad(const Tensor<T>& dy, const Tensor<T>& y) {
  return record<T>("relu gradient", dy.shape(), pointwise([](const auto& g, const auto& v) { return select(v <= 0, 0, g); }, dy, y),
                   wrt(
                       dy, [](const Tensor<T>& g, const Tensor<T>& mask) { return relu_grad(g, mask); }, y));
}

}  // namespace detail

template <Scalar T>
Tensor<T> Relu::operator()(const Tensor<T>& x) const {
  return record<T>("relu", x.shape(), detail::pointwise([](const auto& v) { return kernels::relu(v); }, x),
                   wrt(
                       x, [](const Tensor<T>& dy, const Tensor<T>& y) { return detail::relu_grad(dy, y); }, result));
}

}  // namespace minitorch
