// dropout (Srivastava et al., JMLR 2014), from counter-based random numbers: no mask is kept.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/record.hpp>
#include <minitorch/core/thread_state.hpp>
#include <minitorch/kernels/random.hpp>

namespace minitorch {

// The window of a tensor whose leading dimension is this thread's part of the batch (BatchPlace), or several numbers a sample of it.
inline kernels::Window batch_window(const Shape& shape) {
  kernels::Window window = kernels::Window::whole(shape);
  const BatchPlace& batch = thread_state.batch;
  if (batch.total == 0 || shape.rank() == 0 || batch.local == 0 || shape[0] % batch.local != 0) return window;
  const std::int64_t rows = shape[0] / batch.local;
  window.offset[0] = batch.first * rows;
  window.global[0] = batch.total * rows;
  return window;
}

struct DropoutOp : Operation<DropoutOp> {
  using Operation<DropoutOp>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, double p) const;
  // x is a slice of a larger tensor, and drops what the whole would drop there.
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, double p, const kernels::Window& window) const;
};
// value     x / (1 - p) where an element is kept, 0 where it is dropped, with probability p
// gradient  dy / (1 - p) where it was kept, else 0
// saves     nothing: the same random numbers are drawn again
// Takes one stream of the thread's random numbers. Throws ArgumentError for p outside of [0, 1].
inline constexpr DropoutOp dropout;

namespace detail {

// Linear for given random numbers, and its own gradient.
template <Scalar T>
Tensor<T> dropout_by_key(const Tensor<T>& x, double p, const kernels::Window& window, kernels::RandomKey key) {
  return record<T>(
      "dropout", x.shape(), [&](T* out) { kernels::dropout(window, key, p, x.data(), out); },
      wrt(
          x,
          [](const Tensor<T>& dy, double probability, const kernels::Window& place, kernels::RandomKey numbers) {
            return dropout_by_key(dy, probability, place, numbers);
          },
          p, window, key));
}

}  // namespace detail

template <Scalar T>
Tensor<T> DropoutOp::operator()(const Tensor<T>& x, double p, const kernels::Window& window) const {
  if (!(p >= 0 && p <= 1)) fail<ArgumentError>("dropout: p must be in [0, 1], got ", p);
  if (!(window.local == x.shape())) fail<ShapeError>("dropout: a window of shape ", window.local, " for x of shape ", x.shape());
  const kernels::RandomKey key{thread_state.seed, thread_state.next_stream++};
  if (p == 0) return x;
  return detail::dropout_by_key(x, p, window, key);
}

template <Scalar T>
Tensor<T> DropoutOp::operator()(const Tensor<T>& x, double p) const {
  return (*this)(x, p, batch_window(x.shape()));
}

}  // namespace minitorch
