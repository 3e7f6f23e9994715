// var and standard_deviation over dimensions.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/compare.hpp>
#include <minitorch/ops/masked.hpp>
#include <minitorch/ops/mean.hpp>
#include <minitorch/ops/sqrt.hpp>
#include <minitorch/ops/square.hpp>
#include <minitorch/ops/sub.hpp>
#include <minitorch/ops/sum.hpp>

namespace minitorch {

struct Var : Operation<Var> {
  using Operation<Var>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, const Dims& dims = {}, bool keepdim = false, int correction = 1) const;
};
// value     sum((x - mean)^2) / (n - correction) over `dims`; NaN for n <= correction
// gradient  2 dy (x - mean) / (n - correction)
// saves     x - mean
inline constexpr Var var;

struct StandardDeviation : Operation<StandardDeviation> {
  using Operation<StandardDeviation>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, const Dims& dims = {}, bool keepdim = false, int correction = 1) const;
};
// value     sqrt(var(x))
// gradient  that of sqrt and var; 0 where all elements are equal
// saves     x - mean, the result
inline constexpr StandardDeviation standard_deviation;

namespace detail {

// sqrt whose slope at 0 is taken to be 0: the subgradient of a norm.
template <Scalar T>
Tensor<T> norm_sqrt(const Tensor<T>& x) {
  return record<T>("sqrt", x.shape(), pointwise([](const auto& v) { return kernels::sqrt(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& y) {
                         return grad_mul(dy, grad_div(where(y == 0, compute_t<T>(0), ones_like(y)), mul(y, 2)));
                       },
                       result));
}

}  // namespace detail

template <Scalar T>
Tensor<T> Var::operator()(const Tensor<T>& x, const Dims& dims, bool keepdim, int correction) const {
  using C = compute_t<T>;
  const detail::ReducedShape shape(x.shape(), dims, "var");
  const C count = static_cast<C>(x.numel()) / static_cast<C>(shape.kept.numel()), rest = count - static_cast<C>(correction);
  const Tensor<C> wide = x.template to<C>();
  const Tensor<C> squares = sum(square(sub(wide, mean(wide, dims, true))), dims, keepdim);
  return div(squares, rest > 0 ? rest : C(0)).template to<T>();
}

template <Scalar T>
Tensor<T> StandardDeviation::operator()(const Tensor<T>& x, const Dims& dims, bool keepdim, int correction) const {
  return detail::norm_sqrt(var(x, dims, keepdim, correction));
}

}  // namespace minitorch
