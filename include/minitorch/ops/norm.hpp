// norm: the Euclidean length, without overflow or underflow.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include <minitorch/kernels/reduce.hpp>
#include <minitorch/ops/compare.hpp>
#include <minitorch/ops/grad_mul.hpp>
#include <minitorch/ops/masked.hpp>
#include <minitorch/ops/trailing.hpp>

namespace minitorch {

struct Norm : Operation<Norm> {
  using Operation<Norm>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, const Dims& dims = {}, bool keepdim = false) const;
};
// value     sqrt(sum(x^2)) over `dims`, summed in double, scaled where the squares of doubles would overflow or vanish
// gradient  dy x / y, 0 where y is 0
// saves     x, the result y
inline constexpr Norm norm;

namespace detail {

template <Scalar T>
double row_norm(std::int64_t n, const T* x) {
  double squares = 0;
  kernels::reduce<kernels::SumSquares>(1, n, 1, x, &squares);
  if constexpr (std::same_as<T, double>) {
    if (!(squares > 1e-280 && squares < 1e300)) {  // out of range, 0 or not finite: in units of the largest element
      double most = 0;
      for (std::int64_t i = 0; i < n; ++i) most = std::isnan(x[i]) ? x[i] : (std::abs(x[i]) > most ? std::abs(x[i]) : most);
      if (most == 0 || !std::isfinite(most)) return std::isfinite(squares) ? most : std::sqrt(squares);
      double scaled_squares = 0;
      for (std::int64_t i = 0; i < n; ++i) scaled_squares += (x[i] / most) * (x[i] / most);
      return most * std::sqrt(scaled_squares);
    }
  }
  return std::sqrt(squares);
}

}  // namespace detail

template <Scalar T>
Tensor<T> Norm::operator()(const Tensor<T>& x, const Dims& dims, bool keepdim) const {
  const detail::ReducedShape shape(x.shape(), dims, "norm");
  const Tensor<T> rows = detail::trailing_rows(x, dims, "norm");
  const Tensor<T> y = record<T>(
      "norm", {rows.shape()[0]},
      [&](T* out) {
        const std::int64_t n = rows.shape()[1];
        for (std::int64_t r = 0; r < rows.shape()[0]; ++r)
          out[r] = static_cast<T>(static_cast<compute_t<T>>(detail::row_norm(n, rows.data() + r * n)));
      },
      wrt(
          rows,
          [](const Tensor<T>& dy, const Tensor<T>& input, const Tensor<T>& length) {
            const Tensor<T> column = length.reshape({length.numel(), 1});
            return grad_mul(dy.reshape({dy.numel(), 1}), grad_div(input, where(column == 0, compute_t<T>(1), column)));
          },
          rows, result));
  return y.reshape(shape.get(keepdim));
}

}  // namespace minitorch
