// sum: over all dimensions or some.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/broadcast.hpp>
#include <minitorch/ops/dims.hpp>
#include <minitorch/ops/reduction.hpp>

namespace minitorch {

struct Sum : Operation<Sum, Kind::total_sum> {
  using Operation<Sum, Kind::total_sum>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, const Dims& dims = {}, bool keepdim = false) const;
};
// value     the sum over `dims`, kept in double by a fixed tree and rounded once; 0 of no elements
// gradient  dy, repeated
// saves     nothing
inline constexpr Sum sum;

template <Scalar T>
Tensor<T> Sum::operator()(const Tensor<T>& x, const Dims& dims, bool keepdim) const {
  const detail::ReducedShape shape(x.shape(), dims, "sum");
  return record<T>(
      "sum", shape.get(keepdim), [&](T* out) { detail::sum_runs(x.data(), x.shape(), shape.kept, out); },
      wrt(
          x, [](const Tensor<T>& dy, const Shape& from, const Shape& kept) { return expand(dy.reshape(kept), from); }, x.shape(),
          shape.kept));
}

}  // namespace minitorch
