// neg: -x.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/pointwise.hpp>

namespace minitorch {

struct Neg : Operation<Neg, Kind::linear> {
  using Operation<Neg, Kind::linear>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     -x
// gradient  -dy
// saves     nothing
inline constexpr Neg neg;

template <Scalar T>
Tensor<T> Neg::operator()(const Tensor<T>& x) const {
  return record<T>("neg", x.shape(), detail::pointwise([](const auto& v) { return -v; }, x),
                   wrt(x, [](const Tensor<T>& dy) { return neg(dy); }));
}

}  // namespace minitorch
