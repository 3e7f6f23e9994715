// mean: over all dimensions or some.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/broadcast.hpp>
#include <minitorch/ops/dims.hpp>
#include <minitorch/ops/div.hpp>
#include <minitorch/ops/reduction.hpp>

namespace minitorch {

struct Mean : Operation<Mean, Kind::total_mean> {
  using Operation<Mean, Kind::total_mean>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, const Dims& dims = {}, bool keepdim = false) const;
};
// value     the sum over `dims` divided by the number of elements before it is rounded, so that it does not overflow; NaN of none
// gradient  dy / n, repeated
// saves     nothing
inline constexpr Mean mean;

template <Scalar T>
Tensor<T> Mean::operator()(const Tensor<T>& x, const Dims& dims, bool keepdim) const {
  const detail::ReducedShape shape(x.shape(), dims, "mean");
  return record<T>(
      "mean", shape.get(keepdim), [&](T* out) { detail::sum_runs(x.data(), x.shape(), shape.kept, out, true); },
      wrt(
          x,
          [](const Tensor<T>& dy, const Shape& from, const Shape& kept) {
            const auto count = static_cast<compute_t<T>>(from.numel()) / static_cast<compute_t<T>>(kept.numel());
            return expand(div(dy, count).reshape(kept), from);
          },
          x.shape(), shape.kept));
}

}  // namespace minitorch
