// exp: e^x.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/exp.hpp>
#include <minitorch/ops/grad_mul.hpp>

namespace minitorch {

struct Exp : Operation<Exp, Kind::elementwise> {
  using Operation<Exp, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     e^x
// gradient  dy y
// saves     the result y
inline constexpr Exp exp;

template <Scalar T>
Tensor<T> Exp::operator()(const Tensor<T>& x) const {
  return record<T>("exp", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::exp(v); }, x),
                   wrt(
                       x, [](const Tensor<T>& dy, const Tensor<T>& y) { return grad_mul(dy, y); }, result));
}

}  // namespace minitorch
