// linear: x W^T + b, one operation.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/autograd/matmul.hpp>

namespace minitorch {

struct LinearOp : Operation<LinearOp> {
  using Operation<LinearOp>::operator();
  template <Scalar T, Scalar W>
  Tensor<T> operator()(const Tensor<T>& x, const Tensor<W>& weight, const Tensor<W>& bias = {}) const;
};
// value     x W^T + b for x [..., in], W [out, in] and b [out] or undefined; rounded once
// gradient  dy W, dy^T x, the sum of dy's rows
// saves     x for the gradient of W, W for that of x
// The result has the type of x. When x is half or bfloat16 and W float, W is rounded to x's type and its gradient stays float.
// Throws ShapeError unless x's last dimension is W's and b has one number a row of W.
inline constexpr LinearOp linear;

namespace detail {

// The sum of dy over all but the last dimension, in the accumulation type.
template <Scalar T>
Tensor<compute_t<T>> sum_rows(const Tensor<T>& dy, std::int64_t columns) {
  if (grad_enabled()) return sum_to(dy.template to<compute_t<T>>(), {columns});
  return compute<compute_t<T>>("linear bias gradient", {columns}, [&](compute_t<T>* out) {
    kernels::reduce<kernels::Sum>(1, columns == 0 ? 0 : dy.numel() / columns, columns, dy.data(), out);
  });
}

template <Scalar T, Scalar W>
void check_linear(const Tensor<T>& x, const Tensor<W>& weight, const Tensor<W>& bias) {
  if (weight.rank() != 2 || x.rank() == 0 || x.shape().back() != weight.shape().back())
    fail<ShapeError>("linear: x [..., in] and a weight [out, in] must agree in `in`, got x ", x.shape(), " and a weight ", weight.shape());
  if (bias.defined() && !(bias.shape() == Shape{weight.shape()[0]}))
    fail<ShapeError>("linear: the bias must have one number a row of the weight ", weight.shape(), ", got ", bias.shape());
}

// x W^T + b into out.
template <Scalar T, Scalar W>
void linear_into(const Tensor<T>& x, const Tensor<W>& weight, const Tensor<W>& bias, T* out) {
  const std::int64_t out_width = weight.shape()[0], rows = x.shape().product(0, x.rank() - 1);
  const Product<T, W> product{x, weight, false, true, 1, rows, out_width, weight.shape()[1]};
  if (!bias.defined()) return run_product(product, out, false);
  if constexpr (std::same_as<W, compute_t<T>>) {
    run_product(product, out, false, bias.data());
  } else {
    Workspace<compute_t<T>> wide(out_width);
    kernels::convert(out_width, wide.data(), bias.data());
    run_product(product, out, false, wide.data());
  }
}

}  // namespace detail

template <Scalar T, Scalar W>
Tensor<T> LinearOp::operator()(const Tensor<T>& x, const Tensor<W>& weight, const Tensor<W>& bias) const {
  static_assert(std::same_as<T, W> || (is_narrow<T> && std::same_as<W, float>),
                "linear: x and the weight must have one scalar type (or half or bfloat16 and float); convert one with .to<U>()");
  detail::check_linear(x, weight, bias);
  const std::int64_t rows = x.shape().product(0, x.rank() - 1);
  Shape shape = x.shape();
  shape[x.rank() - 1] = weight.shape()[0];

  const auto forward = [&](T* out) { detail::linear_into(x, weight, bias, out); };
  const auto for_x = wrt(
      x,
      [](const Tensor<T>& dy, const Tensor<W>& w, std::int64_t m) {
        return Product<T, W>{dy, w, false, false, 1, m, w.shape()[1], w.shape()[0]};
      },
      weight, rows);
  const auto for_weight = wrt(
      weight,
      [](const Tensor<T>& dy, const Tensor<T>& input, std::int64_t m) {
        return Product<T, T>{dy, input, true, false, 1, dy.shape().back(), input.shape().back(), m};
      },
      x, rows);
  if (!bias.defined()) return record<T>("linear", shape, forward, for_x, for_weight);
  return record<T>("linear", shape, forward, for_x, for_weight,
                   wrt(bias, [](const Tensor<T>& dy) { return detail::sum_rows(dy, dy.shape().back()); }));
}

}  // namespace minitorch
