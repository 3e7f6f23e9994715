// clamp: values kept inside of an interval.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/pointwise.hpp>

namespace minitorch {

struct Clamp : Operation<Clamp, Kind::elementwise> {
  using Operation<Clamp, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, std::type_identity_t<compute_t<T>> low, std::type_identity_t<compute_t<T>> high) const;
};
// value     low, x or high, whichever lies between the others; NaN stays NaN. An infinite bound is none
// gradient  dy where low <= x <= high, bounds included, else 0; 0 for NaN
// saves     x
// Throws ArgumentError unless low <= high.
inline constexpr Clamp clamp;

namespace detail {

// Linear in dy, piecewise constant in x.
template <Scalar T>
Tensor<T> clamp_grad(const Tensor<T>& dy, const Tensor<T>& x, compute_t<T> low, compute_t<T> high) {
  return record<T>(
      "clamp gradient", dy.shape(),
      pointwise([low, high](const auto& g, const auto& v) { return select((v >= low) & (v <= high), g, 0); }, dy, x),
      wrt(
          dy, [](const Tensor<T>& g, const Tensor<T>& at, compute_t<T> from, compute_t<T> to) { return clamp_grad(g, at, from, to); }, x,
          low, high));
}

}  // namespace detail

template <Scalar T>
Tensor<T> Clamp::operator()(const Tensor<T>& x, std::type_identity_t<compute_t<T>> low, std::type_identity_t<compute_t<T>> high) const {
  if (!(low <= high)) fail<ArgumentError>("clamp: low must not be above high, got ", low, " and ", high);
  return record<T>("clamp", x.shape(),
                   detail::pointwise([low, high](const auto& v) { return select(v < low, low, select(v > high, high, v)); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& input, compute_t<T> from, compute_t<T> to) {
                         return detail::clamp_grad(dy, input, from, to);
                       },
                       x, low, high));
}

}  // namespace minitorch
