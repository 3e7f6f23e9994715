// tril and triu: triangles of matrices.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/masked.hpp>

namespace minitorch {

struct Tril : Operation<Tril> {
  using Operation<Tril>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, std::int64_t diagonal = 0) const;
};
// value     x[..., i, j] where j <= i + diagonal, else 0
// gradient  dy there, else 0
// saves     the mask
inline constexpr Tril tril;

struct Triu : Operation<Triu> {
  using Operation<Triu>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, std::int64_t diagonal = 0) const;
};
// x[..., i, j] where j >= i + diagonal, else 0.
inline constexpr Triu triu;

// mask[i, j] = j <= i + diagonal.
inline Tensor<bool> lower_triangle(std::int64_t rows, std::int64_t columns, std::int64_t diagonal = 0) {
  return compute<bool>("lower_triangle", {rows, columns}, [&](bool* out) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) *out++ = j <= i + diagonal;
  });
}

template <Scalar T>
Tensor<T> Tril::operator()(const Tensor<T>& x, std::int64_t diagonal) const {
  if (x.rank() < 2) fail<ShapeError>("tril: x must be a matrix, or several, got shape ", x.shape());
  return detail::keep_where("tril", x, lower_triangle(x.size(-2), x.size(-1), diagonal), true, 0);
}

template <Scalar T>
Tensor<T> Triu::operator()(const Tensor<T>& x, std::int64_t diagonal) const {
  if (x.rank() < 2) fail<ShapeError>("triu: x must be a matrix, or several, got shape ", x.shape());
  return detail::keep_where("triu", x, lower_triangle(x.size(-2), x.size(-1), diagonal - 1), false, 0);
}

}  // namespace minitorch
