// embedding: rows of a table by index.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/placement.hpp>
#include <minitorch/autograd/view.hpp>
#include <minitorch/kernels/embedding.hpp>

namespace minitorch {

struct EmbeddingOp : Operation<EmbeddingOp> {
  using Operation<EmbeddingOp>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<std::int64_t>& index, const Tensor<T>& table, std::int64_t padding_index = -1) const;
};
// value     row index[i] of table [rows, dim] for each i: shape of index, then dim
// gradient  the rows of dy added to the rows they came from, in the accumulation type; nothing for padding_index
// saves     index
// Throws ArgumentError for an index outside of [0, rows).
inline constexpr EmbeddingOp embedding;

namespace detail {

// Rows of zeros where the index is `padding`. Linear, and its own gradient.
template <Scalar T>
Tensor<T> without_rows(const Tensor<T>& rows, const Tensor<std::int64_t>& index, std::int64_t padding) {
  if (padding < 0) return rows;
  return record<T>(
      "embedding padding", rows.shape(),
      [&](T* out) {
        const std::int64_t width = rows.shape().back();
        for (std::int64_t i = 0; i < index.numel(); ++i) {
          if (index.data()[i] == padding)
            std::fill_n(out + i * width, width, T(0));
          else
            std::copy_n(rows.data() + i * width, width, out + i * width);
        }
      },
      wrt(
          rows, [](const Tensor<T>& dy, const Tensor<std::int64_t>& from, std::int64_t skipped) { return without_rows(dy, from, skipped); },
          index, padding));
}

}  // namespace detail

template <Scalar T>
Tensor<T> EmbeddingOp::operator()(const Tensor<std::int64_t>& index, const Tensor<T>& table, std::int64_t padding_index) const {
  if (table.rank() != 2) fail<ShapeError>("embedding: the table must be a matrix, got shape ", table.shape());
  Shape shape = index.shape();
  shape.push_back(table.shape()[1]);
  return record<T>(
      "embedding", shape,
      [&](T* out) { kernels::gather_rows(table.shape()[0], table.shape()[1], table.data(), index.numel(), index.data(), out); },
      wrt(
          table,
          [](const Tensor<T>& dy, const Tensor<std::int64_t>& from, std::int64_t padding) {
            return RowScatter<T>{detail::without_rows(dy, from, padding).reshape({from.numel(), dy.shape().back()}), from};
          },
          index, padding_index));
}

}  // namespace minitorch
