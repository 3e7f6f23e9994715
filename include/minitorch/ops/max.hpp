// max and min over dimensions, with the index, and argmax and argmin.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/reduce.hpp>
#include <minitorch/ops/compare.hpp>
#include <minitorch/ops/masked.hpp>
#include <minitorch/ops/sum.hpp>
#include <minitorch/ops/trailing.hpp>

namespace minitorch {

struct Max : Operation<Max> {
  using Operation<Max>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, const Dims& dims = {}, bool keepdim = false) const;
};
// value     the largest element over `dims`; NaN when there is one
// gradient  dy in equal shares to all that are as large
// saves     x, the result
// Throws ArgumentError when a result would be the maximum of no elements.
inline constexpr Max max;

struct Min : Operation<Min> {
  using Operation<Min>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, const Dims& dims = {}, bool keepdim = false) const;
};
// The smallest element, as max.
inline constexpr Min min;

// A value and where along the dimension it was.
template <Scalar T>
struct ValueAndIndex {
  Tensor<T> value;
  Tensor<std::int64_t> index;
};

struct MaxWithIndex : Operation<MaxWithIndex> {
  using Operation<MaxWithIndex>::operator();
  template <Scalar T>
  ValueAndIndex<T> operator()(const Tensor<T>& x, int dim, bool keepdim = false) const;
};
// value     the largest element along `dim` and its index, the first of several; a NaN when there is one
// gradient  dy to the element of that index alone
// saves     the index
inline constexpr MaxWithIndex max_with_index;

struct ArgMax : Operation<ArgMax> {
  using Operation<ArgMax>::operator();
  template <Scalar T>
  Tensor<std::int64_t> operator()(const Tensor<T>& x, int dim, bool keepdim = false) const;
};
// The index of the largest element along `dim`, the first of several; of the first NaN when there is one.
inline constexpr ArgMax argmax;

struct ArgMin : Operation<ArgMin> {
  using Operation<ArgMin>::operator();
  template <Scalar T>
  Tensor<std::int64_t> operator()(const Tensor<T>& x, int dim, bool keepdim = false) const;
};
// The index of the smallest element, as argmax.
inline constexpr ArgMin argmin;

namespace detail {

inline void check_not_empty(const Shape& from, const Shape& kept, const char* operation) {
  if (from.numel() == 0 && kept.numel() > 0) fail<ArgumentError>(operation, ": there is no element in shape ", from, " to choose from");
}

// Equal shares of dy for the elements that equal the extreme of their row.
template <Scalar T>
Tensor<T> extreme_shares(const Tensor<T>& dy, const Tensor<T>& x, const Tensor<T>& y) {
  const Tensor<T> chosen = where(x.detach() == y.detach().reshape({y.numel(), 1}), ones<T>({1}), T(0));
  return grad_mul(dy.reshape({dy.numel(), 1}), div(chosen, sum(chosen, -1, true)));
}

template <class R, Scalar T>
Tensor<T> extreme(const char* name, const Tensor<T>& x, const Dims& dims, bool keepdim) {
  const ReducedShape shape(x.shape(), dims, name);
  check_not_empty(x.shape(), shape.kept, name);
  const Tensor<T> rows = trailing_rows(x, dims, name);
  const Tensor<T> y = record<T>(
      name, {rows.shape()[0]}, [&](T* out) { kernels::reduce<R>(rows.shape()[0], rows.shape()[1], 1, rows.data(), out); },
      wrt(
          rows, [](const Tensor<T>& dy, const Tensor<T>& input, const Tensor<T>& found) { return extreme_shares(dy, input, found); }, rows,
          result));
  return y.reshape(shape.get(keepdim));
}

// x as [outer, n, inner] around one dimension.
template <class R, Scalar T>
Tensor<std::int64_t> arg_extreme(const char* name, const Tensor<T>& x, int dim, bool keepdim) {
  const int d = x.shape().dim(dim, name);
  const ReducedShape shape(x.shape(), d, name);
  check_not_empty(x.shape(), shape.kept, name);
  return compute<std::int64_t>(name, shape.get(keepdim), [&](std::int64_t* out) {
    kernels::arg_reduce<R>(x.shape().product(0, d), x.shape()[d], x.shape().product(d + 1, x.rank()), x.data(), out);
  });
}

}  // namespace detail

template <Scalar T>
Tensor<T> Max::operator()(const Tensor<T>& x, const Dims& dims, bool keepdim) const {
  return detail::extreme<kernels::Max>("max", x, dims, keepdim);
}

template <Scalar T>
Tensor<T> Min::operator()(const Tensor<T>& x, const Dims& dims, bool keepdim) const {
  return detail::extreme<kernels::Min>("min", x, dims, keepdim);
}

template <Scalar T>
Tensor<std::int64_t> ArgMax::operator()(const Tensor<T>& x, int dim, bool keepdim) const {
  return detail::arg_extreme<kernels::Max>("argmax", x, dim, keepdim);
}

template <Scalar T>
Tensor<std::int64_t> ArgMin::operator()(const Tensor<T>& x, int dim, bool keepdim) const {
  return detail::arg_extreme<kernels::Min>("argmin", x, dim, keepdim);
}

}  // namespace minitorch
