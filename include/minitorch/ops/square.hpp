// square: x^2.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/ops/mul.hpp>

namespace minitorch {

struct Square : Operation<Square, Kind::elementwise> {
  using Operation<Square, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     x^2
// gradient  2 dy x
// saves     x
inline constexpr Square square;

template <Scalar T>
Tensor<T> Square::operator()(const Tensor<T>& x) const {
  return record<T>("square", x.shape(), detail::pointwise([](const auto& v) { return v * v; }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& input) {
                         if (grad_enabled()) return grad_mul(dy, mul(input, 2));
                         return detail::fused_grad(
                             "square gradient", [](const auto& g, const auto& v) { return detail::scaled(g, v + v); }, dy, input);
                       },
                       x));
}

}  // namespace minitorch
