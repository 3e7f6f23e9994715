// The operations that the engine itself must be able to record: adding gradients up, undoing a broadcast, products.
// SPDX-License-Identifier: MIT
#pragma once

// Declared here and defined with the others: the engine stands on them, and they on it.

#include <type_traits>

#include <minitorch/autograd/lazy.hpp>
#include <minitorch/autograd/operation.hpp>
#include <minitorch/autograd/tensor.hpp>

namespace minitorch {

// Sums the dimensions away in which `shape` was broadcast to x's shape.
template <Scalar T>
Tensor<T> sum_to(const Tensor<T>& x, const Shape& shape);

// Repeats x along the dimensions in which `shape` is larger. Throws ShapeError if x does not broadcast to it.
template <Element T>
Tensor<T> expand(const Tensor<T>& x, const Shape& shape);

// Whether the operands of a product are to be read transposed in their last two dimensions.
struct Transposes {
  bool a = false;
  bool b = false;
};

struct Add : Operation<Add, Kind::addition> {
  using Operation<Add, Kind::addition>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& a, const Tensor<T>& b) const;
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& a, std::type_identity_t<compute_t<T>> b) const;
};
// value     a + b, broadcast by NumPy's rule
// gradient  dy, dy
// saves     nothing
inline constexpr Add add;

struct MatMul : Operation<MatMul> {
  using Operation<MatMul>::operator();
  template <Scalar A, Scalar B>
  Tensor<A> operator()(const Tensor<A>& a, const Tensor<B>& b, Transposes transpose = {}) const;
};
// value     a b; a vector is a row on the left and a column on the right; leading dimensions broadcast
// gradient  da = dc b^T, db = a^T dc
// saves     each operand for the gradient of the other
// The result has the type of a. When a is half or bfloat16 and b is float, b is rounded to a's type and its gradient stays float.
// Throws ShapeError unless a's columns are b's rows.
inline constexpr MatMul matmul;

// Lazy gradients as tensors of the destination's shape, for a backward pass that is itself recorded.
template <Scalar T, Scalar A, Scalar B>
Tensor<T> materialize(const Product<A, B>& product, const Shape& shape);
template <Scalar T>
Tensor<T> materialize(const Placement<T>& placement, const Shape& shape);
template <Scalar T>
Tensor<T> materialize(const RowScatter<T>& scatter, const Shape& shape);

// c = a b, or c += a b; bias: a number for each column, or null.
template <Scalar A, Scalar B, Scalar C>
void run_product(const Product<A, B>& product, C* c, bool accumulate, const compute_t<C>* bias = nullptr);

}  // namespace minitorch
