// Gradients that are not tensors yet: the engine computes them straight into their destination.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <minitorch/autograd/tensor.hpp>

namespace minitorch {

// a b for each of `batch` pairs, with transposes as flags: [m, k] times [k, n] after them. A stride of 0 repeats an operand.
// The destination takes it in its own shape and in its accumulation type.
template <Scalar A, Scalar B>
struct Product {
  Tensor<A> a;
  Tensor<B> b;
  bool transpose_a = false;
  bool transpose_b = false;
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
};

// `piece`, at the position `start` along `dim` of a destination that is zero elsewhere.
template <Scalar T>
struct Placement {
  Tensor<T> piece;
  int dim = 0;
  std::int64_t start = 0;
};

// Row i of `rows` ([n, width]) is added to row index[i] of the destination ([rows, width]).
template <Scalar T>
struct RowScatter {
  Tensor<T> rows;
  Tensor<std::int64_t> index;
};

}  // namespace minitorch
