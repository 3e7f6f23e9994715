// The standard normal distribution: its distribution function and its density.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/erf.hpp>
#include <minitorch/ops/clamp.hpp>
#include <minitorch/ops/mul.hpp>

namespace minitorch {

struct NormalPdf : Operation<NormalPdf, Kind::elementwise> {
  using Operation<NormalPdf, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     e^(-x^2 / 2) / sqrt(2 pi)
// gradient  -dy x y
// saves     x and the result y
inline constexpr NormalPdf normal_pdf;

struct NormalCdf : Operation<NormalCdf, Kind::elementwise> {
  using Operation<NormalCdf, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     (1 + erf(x / sqrt(2))) / 2, accurate in the left tail
// gradient  dy normal_pdf(x)
// saves     x
inline constexpr NormalCdf normal_cdf;

template <Scalar T>
Tensor<T> NormalPdf::operator()(const Tensor<T>& x) const {
  return record<T>("normal_pdf", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::normal_pdf(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& input, const Tensor<T>& y) {
                         return neg(grad_mul(dy, mul(clamp(input, -40, 40), y)));  // y is 0 beyond
                       },
                       x, result));
}

template <Scalar T>
Tensor<T> NormalCdf::operator()(const Tensor<T>& x) const {
  return record<T>("normal_cdf", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::normal_cdf(v); }, x),
                   wrt(
                       x, [](const Tensor<T>& dy, const Tensor<T>& input) { return grad_mul(dy, normal_pdf(input)); }, x));
}

}  // namespace minitorch
