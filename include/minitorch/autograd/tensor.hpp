// Tensor<T>: a handle to a contiguous, row-major array and its place in the graph. Copies share; clone() copies the data.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

#include <minitorch/autograd/any_tensor.hpp>
#include <minitorch/autograd/node.hpp>
#include <minitorch/core/error.hpp>
#include <minitorch/core/thread_state.hpp>

namespace minitorch {

struct BackwardOptions {
  bool retain_graph = false;  // keep what was saved, so that backward can run again
  bool create_graph = false;  // record the backward pass itself; implies retain_graph
};

namespace detail {
[[noreturn, gnu::cold]] inline void undefined_tensor() {
  fail<ArgumentError>("tensor: it is undefined: default-constructed, moved from, or a gradient that has not been computed");
}
}  // namespace detail

template <Element T>
class Tensor {
 public:
  using value_type = T;
  // Gradients that add up are kept in the type that values are computed in: float for the narrow types.
  using Gradient = compute_t<T>;

  Tensor() = default;  // undefined: no shape, no data
  explicit Tensor(BodyRef body) : body_(std::move(body)) {}

  bool defined() const { return static_cast<bool>(body_); }
  const Shape& shape() const { return checked()->shape; }
  int rank() const { return shape().rank(); }
  std::int64_t numel() const { return shape().numel(); }
  // The size of one dimension; negative counts from the end. Throws ShapeError out of range.
  std::int64_t size(int dim) const { return shape()[shape().dim(dim, "size")]; }

  const T* data() const { return reinterpret_cast<const T*>(checked()->data); }
  std::span<const T> values() const { return {data(), static_cast<std::size_t>(numel())}; }
  // The only value of a tensor of one element. Throws ShapeError otherwise.
  T item() const {
    if (numel() != 1) fail<ShapeError>("item: the tensor must have one element, got shape ", shape());
    return *data();
  }

  // For writing in place. Whatever was saved of this memory for a backward pass becomes stale, and that pass an error.
  // Throws GraphError for a tensor that takes part in a graph while gradients are recorded.
  T* mutable_data() {
    if (thread_state.grad_enabled && requires_grad())
      fail<GraphError>("mutable_data: a tensor of shape ", shape(),
                       " in a graph is written to while gradients are recorded; use no_grad or detach()");
    checked()->buffer->bump_version();
    return reinterpret_cast<T*>(body_->data);
  }
  std::span<T> mutable_values() {
    T* first = mutable_data();
    return {first, static_cast<std::size_t>(numel())};
  }

  // --- the graph ---
  bool requires_grad() const { return body_ && body_->node; }
  bool is_leaf() const { return !requires_grad() || body_->node->is_leaf(); }
  // Makes a leaf (a tensor without history) one whose gradient is wanted, or not. Returns itself.
  Tensor& set_requires_grad(bool wanted = true) requires Scalar<T>;
  // The gradient that backward passes have gathered on a leaf, or on an inner tensor after retain_grad(); undefined before the first.
  Tensor<Gradient> grad() const requires Scalar<T>;
  // Replaces it (an undefined tensor clears it). Throws ShapeError for another shape.
  void set_grad(Tensor<Gradient> gradient) requires Scalar<T>;
  void zero_grad() requires Scalar<T> { set_grad({}); }
  // Keeps the gradient of an inner tensor for grad().
  void retain_grad() const requires Scalar<T>;
  // Calls hook(gradient) once a backward pass with the whole gradient of this tensor; what it returns, if defined, replaces it.
  template <class Hook>
  void register_hook(Hook hook) const requires Scalar<T>;
  // Calls hook() on a leaf once a backward pass, after its gradient has been added to.
  template <class Hook>
  void register_post_accumulate_hook(Hook hook) const requires Scalar<T>;

  // Adds the gradient of this tensor to every leaf it depends on. Without a seed the tensor must have one element.
  void backward(BackwardOptions options = {}) const requires Scalar<T>;
  void backward(const Tensor& seed, BackwardOptions options = {}) const requires Scalar<T>;

  // --- other views of the same data ---
  // The same data outside the graph.
  Tensor detach() const { return Tensor(alias()); }
  // A copy of the data; differentiable.
  Tensor clone() const;
  // The same data in another shape; one dimension may be -1. Throws ShapeError unless the number of elements agrees.
  Tensor reshape(std::initializer_list<std::int64_t> dims) const;
  Tensor reshape(const Shape& shape) const;
  // The elements [first, last) of the leading dimension; shares the data.
  Tensor slice(std::int64_t first, std::int64_t last) const;
  // Element `index` of the leading dimension, without that dimension; shares the data.
  Tensor operator[](std::int64_t index) const;
  // The values in another scalar type, rounded to nearest even; the same tensor if it is the same type. Differentiable.
  template <Element U>
  Tensor<U> to() const;

  // --- in place; recorded when gradients are ---
  Tensor& copy_(const Tensor& source);
  Tensor& fill_(T value);
  Tensor& add_(const Tensor& other);

  const BodyRef& body() const { return body_; }
  // The body of a handle that is about to die.
  BodyRef release_body() && { return std::move(body_); }

  // A new body on the same memory, with the given node (none: outside the graph).
  BodyRef alias(NodeRef node = {}) const {
    const TensorBody* own = checked();
    auto* body = new TensorBody(dtype_of<T>, own->shape, own->buffer, own->data);
    body->node = std::move(node);
    return BodyRef(body);
  }

  // An uninitialised tensor. Throws std::bad_alloc, ShapeError for more bytes than can be counted.
  static Tensor empty(const Shape& shape) { return Tensor(BodyRef::empty(dtype_of<T>, shape)); }

 private:
  TensorBody* checked() const {
    if (!body_) [[unlikely]]
      detail::undefined_tensor();
    return body_.get();
  }

  BodyRef body_;
};

template <Element T>
AnyTensor::AnyTensor(const Tensor<T>& tensor) : body_(tensor.body()) {}

template <Element T>
Tensor<T> AnyTensor::as() const {
  if (dtype() != dtype_of<T>) fail<ArgumentError>("as: the tensor holds ", dtype_name(dtype()), ", not ", dtype_name(dtype_of<T>));
  return Tensor<T>(body_);
}

}  // namespace minitorch
