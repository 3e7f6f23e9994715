// How a tensor becomes a leaf, and what can be asked of its place in the graph.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <utility>

#include <minitorch/autograd/grad_node.hpp>

namespace minitorch {

namespace detail {
template <Scalar T>
GradNode<T>& graph_node(const Tensor<T>& tensor, const char* operation) {
  if (!tensor.requires_grad()) fail<GraphError>(operation, ": the tensor of shape ", tensor.shape(), " does not require a gradient");
  return *typed<T>(tensor.body()->node);
}
}  // namespace detail

template <Element T>
Tensor<T>& Tensor<T>::set_requires_grad(bool wanted) requires Scalar<T> {
  if (!is_leaf())
    fail<GraphError>("set_requires_grad: the tensor of shape ", shape(), " is a result of a recorded operation; use detach()");
  if (wanted == requires_grad()) return *this;
  body_->node = wanted ? NodeRef(new Leaf<T>(shape())) : NodeRef{};
  return *this;
}

template <Element T>
Tensor<compute_t<T>> Tensor<T>::grad() const requires Scalar<T> {
  return requires_grad() ? Tensor<Gradient>(detail::typed<T>(body_->node)->total()) : Tensor<Gradient>{};
}

template <Element T>
void Tensor<T>::set_grad(Tensor<Gradient> gradient) requires Scalar<T> {
  if (gradient.defined() && !(gradient.shape() == shape()))
    fail<ShapeError>("set_grad: the gradient must have the shape of the tensor, got ", gradient.shape(), " for ", shape());
  if (!gradient.defined() && !requires_grad()) return;
  detail::graph_node(*this, "set_grad").set_total(std::move(gradient).release_body());
}

template <Element T>
void Tensor<T>::retain_grad() const requires Scalar<T> {
  detail::graph_node(*this, "retain_grad");
  if (!is_leaf()) detail::typed<T>(body_->node)->retain_grad();
}

template <Element T>
template <class Hook>
void Tensor<T>::register_hook(Hook hook) const requires Scalar<T> {
  detail::graph_node(*this, "register_hook").add_hook(std::move(hook));
}

template <Element T>
template <class Hook>
void Tensor<T>::register_post_accumulate_hook(Hook hook) const requires Scalar<T> {
  if (!requires_grad() || !is_leaf())
    fail<GraphError>("register_post_accumulate_hook: the tensor of shape ", shape(), " is not a leaf that requires a gradient");
  detail::typed<T>(body_->node)->add_after_hook(std::move(hook));
}

}  // namespace minitorch
