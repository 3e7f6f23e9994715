// Writing in place. While gradients are recorded, the tensor takes the place of the new value in the graph.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstring>

#include <minitorch/autograd/arithmetic.hpp>

namespace minitorch {

namespace detail {

// Makes `x` the value that operation(old x) has: same memory, new data, new place in the graph.
template <Element T, class Operation>
void replace_in_place(Tensor<T>& x, const char* name, Operation operation) {
  if (thread_state.grad_enabled && x.requires_grad()) {
    if (x.is_leaf())
      fail<GraphError>(name, ": a leaf of shape ", x.shape(), " that requires a gradient is written to in place; use no_grad");
    if (x.body()->buffer->has_views())
      fail<GraphError>(name, ": a tensor of shape ", x.shape(),
                       " that shares memory with another is written to in place while gradients are recorded");
  }
  const Tensor<T> value = operation(Tensor<T>(x.alias(x.body()->node)));
  if (thread_state.grad_enabled && value.requires_grad() && x.body()->buffer->has_views())
    fail<GraphError>(name, ": a value with a gradient is written into memory of shape ", x.shape(), " that is shared with another tensor");
  std::memcpy(x.body()->data, value.data(), static_cast<std::size_t>(x.numel()) * sizeof(T));
  x.body()->buffer->bump_version();
  if (thread_state.grad_enabled) x.body()->node = value.body()->node;
}

}  // namespace detail

template <Element T>
Tensor<T>& Tensor<T>::copy_(const Tensor& source) {
  // A node of its own: hooks and a retained gradient of this tensor are not those of the source.
  detail::replace_in_place(*this, "copy_",
                           [&](const Tensor& old) { return source.shape() == old.shape() ? source.clone() : expand(source, old.shape()); });
  return *this;
}

template <Element T>
Tensor<T>& Tensor<T>::fill_(T value) {
  detail::replace_in_place(*this, "fill_", [&](const Tensor& old) {
    return compute<T>("fill_", old.shape(), [&](T* out) { std::fill_n(out, old.numel(), value); });
  });
  return *this;
}

template <Element T>
Tensor<T>& Tensor<T>::add_(const Tensor& other) {
  detail::replace_in_place(*this, "add_", [&](const Tensor& old) { return add(old, expand(other, old.shape())); });
  return *this;
}

}  // namespace minitorch
