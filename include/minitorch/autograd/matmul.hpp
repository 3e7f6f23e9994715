// Matrix products with transposes as flags, over batches by NumPy's rules. The gradients are products again.
// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include <minitorch/autograd/broadcast.hpp>
#include <minitorch/autograd/engine_ops.hpp>
#include <minitorch/autograd/record.hpp>
#include <minitorch/kernels/gemm.hpp>

namespace minitorch {

namespace detail {

template <class T>
kernels::Matrix<const T> matrix(const Tensor<T>& x, bool transposed, std::int64_t rows, std::int64_t columns, bool repeated) {
  return {x.data(), transposed ? rows : columns, transposed, repeated ? 0 : rows * columns};
}

// The last two dimensions after the flag.
inline std::pair<std::int64_t, std::int64_t> matrix_size(const Shape& shape, bool transposed) {
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape.back();
  return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
}

inline Shape leading(const Shape& shape, int dropped) { return Shape(std::span(shape.begin(), shape.end() - dropped)); }

inline Shape joined(Shape shape, std::initializer_list<std::int64_t> dims) {
  for (std::int64_t d : dims) shape.push_back(d);
  return shape;
}

}  // namespace detail

template <Scalar A, Scalar B, Scalar C>
void run_product(const Product<A, B>& p, C* c, bool accumulate, const compute_t<C>* bias) {
  const bool repeat_a = p.batch > 1 && p.a.numel() == p.m * p.k, repeat_b = p.batch > 1 && p.b.numel() == p.k * p.n;
  kernels::gemm<A, B, C>(p.batch, p.m, p.n, p.k, detail::matrix(p.a, p.transpose_a, p.m, p.k, repeat_a),
                         detail::matrix(p.b, p.transpose_b, p.k, p.n, repeat_b), kernels::Matrix<C>{c, p.n, false, p.m * p.n}, accumulate,
                         bias);
  const double flops = 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  autograd_state.product_flops += flops;
  if (thread_state.in_recompute) autograd_state.recomputed_flops += flops;
}

namespace detail {

// One batch of both operands, or one matrix of either: what a single gemm call serves.
//   value     c = a b, with [m, k] and [k, n] after the transposes
//   gradient  da = dc b^T, db = a^T dc, with transposes moved into the operands
//   saves     a for db, b for da
template <Scalar A, Scalar B>
Tensor<A> batched_matmul(const Tensor<A>& a, const Tensor<B>& b, Transposes transpose, const Shape& shape, std::int64_t batch) {
  const auto [m, k] = matrix_size(a.shape(), transpose.a);
  const std::int64_t n = matrix_size(b.shape(), transpose.b).second;
  return record<A>(
      "matmul", shape,
      [&, m = m, k = k](A* out) {
        run_product(Product<A, B>{a, b, transpose.a, transpose.b, batch, m, n, k}, out, false);
      },
      wrt(
          a,
          [](const Tensor<A>& dc, const Tensor<B>& other, Transposes t, std::int64_t count, std::int64_t rows, std::int64_t columns,
             std::int64_t inner) {
            if constexpr (std::same_as<A, B>) {
              if (t.a) return Product<A, B>{other, dc, t.b, true, count, inner, rows, columns};
            }
            return Product<A, B>{dc, other, false, !t.b, count, rows, inner, columns};
          },
          b, transpose, batch, m, n, k),
      wrt(
          b,
          [](const Tensor<A>& dc, const Tensor<A>& other, Transposes t, std::int64_t count, std::int64_t rows, std::int64_t columns,
             std::int64_t inner) {
            if (t.b) return Product<A, A>{dc, other, true, t.a, count, columns, inner, rows};
            return Product<A, A>{other, dc, !t.a, false, count, inner, columns, rows};
          },
          a, transpose, batch, m, n, k));
}

}  // namespace detail

template <Scalar A, Scalar B>
Tensor<A> MatMul::operator()(const Tensor<A>& a, const Tensor<B>& b, Transposes transpose) const {
  static_assert(std::same_as<A, B> || (is_narrow<A> && std::same_as<B, float>),
                "matmul: the operands must have one scalar type (or a half or bfloat16 left and a float right); convert one with .to<U>()");
  if (!std::same_as<A, B> && transpose.a) fail<ArgumentError>("matmul: with a float b, a must not be transposed");
  if (a.rank() == 0 || b.rank() == 0) fail<ShapeError>("matmul: a scalar is no matrix, got a ", a.shape(), " and b ", b.shape());
  if (a.rank() == 1) {
    const Tensor<A> product = (*this)(a.reshape({1, a.numel()}), b, {false, transpose.b});
    Shape shape = detail::leading(product.shape(), b.rank() == 1 ? 1 : 2);
    if (b.rank() > 1) shape.push_back(product.shape().back());
    return product.reshape(shape);
  }
  if (b.rank() == 1) {
    const Tensor<A> product = (*this)(a, b.reshape({b.numel(), 1}), {transpose.a, false});
    return product.reshape(detail::leading(product.shape(), 1));
  }
  const auto [m, k] = detail::matrix_size(a.shape(), transpose.a);
  const auto [rows, n] = detail::matrix_size(b.shape(), transpose.b);
  if (k != rows) {
    fail<ShapeError>("matmul: a.cols must equal b.rows, got a ", a.shape(), transpose.a ? " transposed" : "", " and b ", b.shape(),
                     transpose.b ? " transposed" : "");
  }
  const Shape batch_a = detail::leading(a.shape(), 2), batch_b = detail::leading(b.shape(), 2);
  if (batch_b.numel() == 1 && batch_b.rank() <= batch_a.rank() && !transpose.a) {  // fold a's batch into its rows: one product
    const Shape shape = detail::joined(batch_a, {m, n});
    if (a.rank() == 2 && b.rank() == 2) return detail::batched_matmul(a, b, transpose, shape, 1);
    const std::int64_t all = batch_a.numel() * m;
    const Tensor<A> folded = a.rank() == 2 ? a : a.reshape({all, k});
    const Tensor<B> single = b.rank() == 2 ? b : b.reshape(Shape(std::span(b.shape().end() - 2, b.shape().end())));
    return detail::batched_matmul(folded, single, transpose, {all, n}, 1).reshape(shape);
  }
  const Shape batch = broadcast_shapes(batch_a, batch_b, "matmul");
  const auto aligned = [&]<Scalar T>(const Tensor<T>& x, const Shape& own) {
    return own == batch ? x : expand(x, detail::joined(batch, {x.shape()[x.rank() - 2], x.shape().back()}));
  };
  return detail::batched_matmul(aligned(a, batch_a), aligned(b, batch_b), transpose, detail::joined(batch, {m, n}), batch.numel());
}

template <Scalar T, Scalar A, Scalar B>
Tensor<T> materialize(const Product<A, B>& p, const Shape& shape) {
  const auto batched = [&]<Scalar U>(const Tensor<U>& x, std::int64_t rows, std::int64_t columns) {
    return x.reshape(p.batch == 1 ? Shape{rows, columns} : Shape{p.batch, rows, columns});
  };
  const auto a = p.transpose_a ? batched(p.a, p.k, p.m) : batched(p.a, p.m, p.k);
  const auto b = p.transpose_b ? batched(p.b, p.n, p.k) : batched(p.b, p.k, p.n);
  const Transposes transpose{p.transpose_a, p.transpose_b};
  if constexpr (is_narrow<A> && !is_narrow<T>)  // a wide destination is not rounded to the operands' type
    return matmul(a.template to<T>(), b.template to<T>(), transpose).reshape(shape);
  else
    return matmul(a, b, transpose).reshape(shape).template to<T>();
}

}  // namespace minitorch
