// median: the lower middle element along a dimension.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include <minitorch/ops/gather.hpp>

namespace minitorch {

struct Median : Operation<Median> {
  using Operation<Median>::operator();
  template <Scalar T>
  ValueAndIndex<T> operator()(const Tensor<T>& x, int dim, bool keepdim = false) const;
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     the element of rank (n - 1) / 2 along `dim` and its index, or of all elements; a NaN when there is one
// gradient  dy to that element
// saves     the index
inline constexpr Median median;

template <Scalar T>
ValueAndIndex<T> Median::operator()(const Tensor<T>& x, int dim, bool keepdim) const {
  const int d = x.shape().dim(dim, "median");
  const detail::ReducedShape shape(x.shape(), d, "median");
  detail::check_not_empty(x.shape(), shape.kept, "median");
  const auto index = compute<std::int64_t>("median", shape.kept, [&](std::int64_t* out) {
    const std::int64_t n = x.shape()[d], inner = x.shape().product(d + 1, x.rank());
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    for (std::int64_t o = 0; o < shape.kept.numel(); ++o) {
      const T* line = x.data() + o / inner * n * inner + o % inner;
      const auto value = [&](std::int64_t i) { return static_cast<compute_t<T>>(line[i * inner]); };
      std::iota(order.begin(), order.end(), std::int64_t{0});
      const auto bad = std::find_if(order.begin(), order.end(), [&](std::int64_t i) { return value(i) != value(i); });
      if (bad != order.end()) {
        out[o] = *bad;
        continue;
      }
      const auto middle = order.begin() + (n - 1) / 2;
      std::nth_element(order.begin(), middle, order.end(),
                       [&](std::int64_t a, std::int64_t b) { return value(a) < value(b) || (value(a) == value(b) && a < b); });
      out[o] = *middle;
    }
  });
  return {detail::gathered(x, d, index).reshape(shape.get(keepdim)), index.reshape(shape.get(keepdim))};
}

template <Scalar T>
Tensor<T> Median::operator()(const Tensor<T>& x) const {
  return (*this)(x.reshape({x.numel()}), 0).value;
}

}  // namespace minitorch
