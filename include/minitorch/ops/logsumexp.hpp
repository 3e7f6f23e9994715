// logsumexp: log(sum(e^x)) without overflow.
// SPDX-License-Identifier: MIT
#pragma once

#include <limits>

#include <minitorch/ops/compare.hpp>
#include <minitorch/ops/exp.hpp>
#include <minitorch/ops/masked.hpp>
#include <minitorch/ops/softmax.hpp>
#include <minitorch/ops/trailing.hpp>

namespace minitorch {

struct LogSumExp : Operation<LogSumExp> {
  using Operation<LogSumExp>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, const Dims& dims = {}, bool keepdim = false) const;
};
// value     log(sum(e^x)) over `dims`; -inf of nothing but -inf, inf with an inf
// gradient  dy e^(x - y), 0 where y is -inf
// saves     x, the result y
inline constexpr LogSumExp logsumexp;

template <Scalar T>
Tensor<T> LogSumExp::operator()(const Tensor<T>& x, const Dims& dims, bool keepdim) const {
  const detail::ReducedShape shape(x.shape(), dims, "logsumexp");
  const Tensor<T> rows = detail::trailing_rows(x, dims, "logsumexp");
  const Tensor<T> y = record<T>(
      "logsumexp", {rows.shape()[0]}, [&](T* out) { kernels::logsumexp(rows.shape()[0], rows.shape()[1], rows.data(), out); },
      wrt(
          rows,
          [](const Tensor<T>& dy, const Tensor<T>& input, const Tensor<T>& lse) {
            const Tensor<T> shift = where(lse == -std::numeric_limits<double>::infinity(), compute_t<T>(0), lse);
            return grad_mul(dy.reshape({dy.numel(), 1}), exp(sub(input, shift.reshape({lse.numel(), 1}))));
          },
          rows, result));
  return y.reshape(shape.get(keepdim));
}

}  // namespace minitorch
