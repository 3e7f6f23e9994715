// What elementwise operations share: forward passes and fused gradients by one pass over their tensors.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/arithmetic.hpp>
#include <minitorch/autograd/record.hpp>
#include <minitorch/kernels/map.hpp>

namespace minitorch::detail {

// g s, and 0 where g is 0 whatever s is: a gradient of zero stays zero.
template <class P>
[[gnu::always_inline]] inline P scaled(const P& g, const P& s) {
  return select(g == P(0), g, g * s);
}

// The forward pass out[i] = f(x[i]...) of tensors of one shape. An f that calls functions of kernels/math.hpp is always_inline: g++ may
// clone another one before it inlines, and single instructions of AVX-512 become calls.
template <class F, Element First, Element... Rest>
auto pointwise(F f, const Tensor<First>& first, const Tensor<Rest>&... rest) {
  return [f, &first, &rest...](auto* out) { kernels::map(first.numel(), f, out, first.data(), rest.data()...); };
}

// The gradient dx[i] = f(dy[i], x[i]...) in one pass, outside the graph.
template <Scalar T, class F, Element... In>
Tensor<T> fused_grad(const char* name, F f, const Tensor<T>& dy, const Tensor<In>&... x) {
  return compute<T>(name, dy.shape(), pointwise(f, dy, x...));
}

}  // namespace minitorch::detail
