// Parts of a tensor and their transposes: a range of a dimension, rows by index. Each is the gradient of the other way round.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include <minitorch/autograd/engine_ops.hpp>
#include <minitorch/autograd/factories.hpp>
#include <minitorch/autograd/record.hpp>
#include <minitorch/kernels/map.hpp>

namespace minitorch {

// value     x[..., start : start + length, ...] along `dim`, copied
// gradient  dy at that place, zero elsewhere
// saves     nothing
template <Element T>
Tensor<T> take_range(const Tensor<T>& x, int dim, std::int64_t start, std::int64_t length) {
  const int d = x.shape().dim(dim, "take_range");
  if (start < 0 || length < 0 || start + length > x.shape()[d])
    fail<ArgumentError>("take_range: [", start, ", ", start + length, ") is not inside dimension ", d, " of shape ", x.shape());
  Shape shape = x.shape();
  shape[d] = length;
  const auto copy = [&](T* out) {
    const std::int64_t outer = shape.product(0, d), inner = shape.product(d + 1, shape.rank()), stride = x.shape()[d] * inner;
    const T* from = x.data() + start * inner;
    for (std::int64_t o = 0; o < outer; ++o, from += stride, out += length * inner) std::copy_n(from, length * inner, out);
  };
  if constexpr (Scalar<T>) {
    return record<T>("take_range", shape, copy,
                     wrt(
                         x,
                         [](const Tensor<T>& dy, int along, std::int64_t first) {
                           return Placement<T>{dy, along, first};
                         },
                         d, start));
  } else {
    return compute<T>("take_range", shape, copy);
  }
}

template <Scalar T>
Tensor<T> materialize(const Placement<T>& placement, const Shape& shape) {
  const Tensor<T>& piece = placement.piece;
  const int d = placement.dim;
  return record<T>(
      "place", shape,
      [&](T* out) {
        const std::int64_t outer = shape.product(0, d), inner = shape.product(d + 1, shape.rank());
        const std::int64_t before = placement.start * inner, length = piece.shape()[d] * inner, all = shape[d] * inner;
        const T* from = piece.data();
        for (std::int64_t o = 0; o < outer; ++o, from += length, out += all) {
          std::fill_n(out, before, T(0));
          std::copy_n(from, length, out + before);
          std::fill_n(out + before + length, all - before - length, T(0));
        }
      },
      wrt(
          piece, [](const Tensor<T>& dy, int along, std::int64_t start, std::int64_t count) { return take_range(dy, along, start, count); },
          d, placement.start, piece.shape()[d]));
}

// value     row index[i] of x ([rows, ...]) for each i: shape of index, then the rest of x's shape
// gradient  the rows of dy added to the rows they came from, in the accumulation type
// saves     index
// Throws ArgumentError for an index outside of [0, rows).
template <Scalar T>
Tensor<T> take_rows(const Tensor<T>& x, const Tensor<std::int64_t>& index) {
  if (x.rank() == 0) fail<ShapeError>("take_rows: a scalar has no rows");
  const std::int64_t rows = x.shape()[0], width = x.shape().product(1, x.rank());
  for (std::int64_t row : index.values())
    if (row < 0 || row >= rows) fail<ArgumentError>("take_rows: index ", row, " is out of range for ", rows, " rows");
  Shape shape = index.shape();
  for (int d = 1; d < x.rank(); ++d) shape.push_back(x.shape()[d]);
  return record<T>(
      "take_rows", shape,
      [&](T* out) {
        for (std::int64_t row : index.values()) out = std::copy_n(x.data() + row * width, width, out);
      },
      wrt(
          x,
          [](const Tensor<T>& dy, const Tensor<std::int64_t>& from, std::int64_t size) {
            return RowScatter<T>{dy.reshape({from.numel(), size}), from};
          },
          index, width));
}

template <Scalar T>
Tensor<T> materialize(const RowScatter<T>& scatter, const Shape& shape) {
  const std::int64_t width = scatter.rows.shape().back();
  return record<T>(
      "scatter_rows", shape,
      [&](T* out) {
        const Tensor<compute_t<T>> wide = full<compute_t<T>>(shape, 0);
        auto* to = reinterpret_cast<compute_t<T>*>(wide.body()->data);
        const T* row = scatter.rows.data();
        for (std::int64_t target : scatter.index.values()) {
          compute_t<T>* at = to + target * width;
          kernels::map(
              width, [](const auto& a, const auto& b) { return a + b; }, at, static_cast<const compute_t<T>*>(at), row);
          row += width;
        }
        kernels::map(
            shape.numel(), [](const auto& a) { return a; }, out, static_cast<const compute_t<T>*>(to));
      },
      wrt(
          scatter.rows,
          [](const Tensor<T>& dy, const Tensor<std::int64_t>& index, std::int64_t size) {
            return take_rows(dy, index).reshape({index.numel(), size});
          },
          scatter.index, width));
}

}  // namespace minitorch
