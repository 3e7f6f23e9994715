// softmax and log_softmax along one dimension.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/kernels/softmax.hpp>
#include <minitorch/ops/exp.hpp>
#include <minitorch/ops/mul.hpp>
#include <minitorch/ops/permute.hpp>
#include <minitorch/ops/sub.hpp>
#include <minitorch/ops/sum.hpp>

namespace minitorch {

struct Softmax : Operation<Softmax, Kind::rowwise> {
  using Operation<Softmax, Kind::rowwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, int dim = -1) const;
};
// value     e^x / sum(e^x) along `dim`; NaN for a row of -inf, or one with inf
// gradient  y (dy - sum(dy y))
// saves     the result y
inline constexpr Softmax softmax;

struct LogSoftmax : Operation<LogSoftmax, Kind::rowwise> {
  using Operation<LogSoftmax, Kind::rowwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, int dim = -1) const;
};
// value     x - log(sum(e^x)) along `dim`, without overflow
// gradient  dy - e^y sum(dy)
// saves     the result y
inline constexpr LogSoftmax log_softmax;

namespace detail {

// The number of rows of a tensor whose last dimension is a row.
inline std::int64_t row_count(const Shape& shape) { return shape.product(0, shape.rank() - 1); }

// operation(x) along `dim` by an operation along the last dimension.
template <Scalar T, class F>
Tensor<T> along(const Tensor<T>& x, int dim, const char* operation, F along_last) {
  const int d = x.shape().dim(dim, operation);
  if (d + 1 == x.rank()) return along_last(x);
  return transposed(along_last(transposed(x, d, -1)), d, -1);
}

}  // namespace detail

template <Scalar T>
Tensor<T> Softmax::operator()(const Tensor<T>& x, int dim) const {
  return detail::along(x, dim, "softmax", [](const Tensor<T>& rows) {
    const Shape& shape = rows.shape();
    return record<T>(
        "softmax", shape, [&](T* out) { kernels::softmax(detail::row_count(shape), shape.back(), rows.data(), out); },
        wrt(
            rows,
            [](const Tensor<T>& dy, const Tensor<T>& y) {
              if (grad_enabled()) return mul(y, sub(dy, sum(mul(dy, y), -1, true)));
              return compute<T>("softmax gradient", dy.shape(), [&](T* out) {
                kernels::softmax_backward(detail::row_count(dy.shape()), dy.shape().back(), y.data(), dy.data(), out);
              });
            },
            result));
  });
}

template <Scalar T>
Tensor<T> LogSoftmax::operator()(const Tensor<T>& x, int dim) const {
  return detail::along(x, dim, "log_softmax", [](const Tensor<T>& rows) {
    const Shape& shape = rows.shape();
    return record<T>(
        "log_softmax", shape, [&](T* out) { kernels::log_softmax(detail::row_count(shape), shape.back(), rows.data(), out); },
        wrt(
            rows,
            [](const Tensor<T>& dy, const Tensor<T>& y) {
              if (grad_enabled()) return sub(dy, mul(exp(y), sum(dy, -1, true)));
              return compute<T>("log_softmax gradient", dy.shape(), [&](T* out) {
                kernels::log_softmax_backward(detail::row_count(dy.shape()), dy.shape().back(), y.data(), dy.data(), out);
              });
            },
            result));
  });
}

}  // namespace minitorch
