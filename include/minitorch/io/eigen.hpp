// Eigen matrices and tensors on the same memory, both ways and without a copy.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <minitorch/autograd/factories.hpp>
#include <minitorch/autograd/tensor.hpp>
#include <minitorch/core/eigen.hpp>

namespace minitorch {

template <Scalar T>
using EigenMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

namespace detail {
template <Scalar T>
std::pair<Eigen::Index, Eigen::Index> matrix_dims(const Tensor<T>& x) {
  const Shape& shape = x.shape();
  const std::int64_t columns = shape.rank() == 0 ? 1 : shape.back();
  return {shape.rank() == 0 ? 1 : shape.product(0, shape.rank() - 1), columns};
}
}  // namespace detail

// x as a matrix: the last dimension are its columns, all others together its rows. Valid while a tensor holds the memory.
template <Scalar T>
Eigen::Map<const EigenMatrix<T>> eigen_map(const Tensor<T>& x) {
  const auto [rows, columns] = detail::matrix_dims(x);
  return {x.data(), rows, columns};
}

// The same for writing, which makes stale what was saved of x. Throws GraphError for a tensor in a graph while gradients are recorded.
template <Scalar T>
Eigen::Map<EigenMatrix<T>> mutable_eigen_map(Tensor<T>& x) {
  const auto [rows, columns] = detail::matrix_dims(x);
  return {x.mutable_data(), rows, columns};
}

// The tensor [rows, columns] on the memory of a row-major matrix, [columns, rows] (the transpose) on that of a column-major one. A
// matrix with a name must outlive the tensor and keep its size; a temporary moves in.
template <class Matrix, class Plain = std::remove_cvref_t<Matrix>>
requires(!std::is_const_v<std::remove_reference_t<Matrix>> &&
         std::is_base_of_v<Eigen::PlainObjectBase<Plain>, Plain>) Tensor<typename Plain::Scalar> wrap_eigen(Matrix&& matrix) {
  const auto shape_of = [](const Plain& m) { return Plain::IsRowMajor ? Shape{m.rows(), m.cols()} : Shape{m.cols(), m.rows()}; };
  if constexpr (std::is_lvalue_reference_v<Matrix>) {
    return wrap(matrix.data(), shape_of(matrix));
  } else {
    const auto owned = std::make_shared<Plain>(std::forward<Matrix>(matrix));
    return wrap(owned->data(), shape_of(*owned), [owned] {});
  }
}

}  // namespace minitorch
