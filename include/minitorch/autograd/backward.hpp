// backward() and grad(): the two ways to ask for gradients.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include <minitorch/autograd/engine.hpp>
#include <minitorch/autograd/tensor.hpp>

namespace minitorch {

struct GradOptions {
  bool retain_graph = false;
  bool create_graph = false;
  bool allow_unused = false;  // an input that no output depends on has an undefined gradient instead of being an error
};

namespace detail {

template <Scalar T>
Tensor<T> checked_seed(const char* operation, const Tensor<T>& output, const Tensor<T>& seed) {
  if (!output.requires_grad()) fail<GraphError>(operation, ": the tensor of shape ", output.shape(), " is not part of a graph");
  if (seed.defined()) {
    if (!(seed.shape() == output.shape()))
      fail<ShapeError>(operation, ": the seed must have the shape of the output, got ", seed.shape(), " for ", output.shape());
    return seed;
  }
  if (output.numel() != 1)
    fail<GraphError>(operation, ": a tensor of shape ", output.shape(), " needs a seed; only one element can do without");
  Tensor<T> one = Tensor<T>::empty(output.shape());
  *one.mutable_data() = T(1);
  return one;
}

}  // namespace detail

template <Element T>
void Tensor<T>::backward(const Tensor& seed, BackwardOptions options) const requires Scalar<T> {
  const Tensor checked = detail::checked_seed("backward", *this, seed);
  Engine engine(options);
  engine.add_root(*this, checked);
  engine.run();
}

template <Element T>
void Tensor<T>::backward(BackwardOptions options) const requires Scalar<T> {
  backward(Tensor{}, options);
}

namespace detail {

template <Scalar T, Scalar Out>
std::vector<Tensor<T>> gradients_of(std::span<const Tensor<Out>> outputs, std::span<const Tensor<T>> inputs,
                                    std::span<const Tensor<Out>> seeds, GradOptions options) {
  if (!seeds.empty() && seeds.size() != outputs.size())
    fail<ArgumentError>("grad: ", outputs.size(), " outputs but ", seeds.size(), " seeds");
  for (const Tensor<T>& input : inputs)
    if (!input.requires_grad()) fail<GraphError>("grad: an input of shape ", input.shape(), " does not require a gradient");
  std::vector<Tensor<Out>> checked;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    checked.push_back(checked_seed("grad", outputs[i], seeds.empty() ? Tensor<Out>{} : seeds[i]));

  std::vector<Tensor<T>> gradients;
  Engine engine({options.retain_graph, options.create_graph});
  for (const Tensor<T>& input : inputs) engine.capture(input);
  for (std::size_t i = 0; i < outputs.size(); ++i) engine.add_root(outputs[i], checked[i]);
  engine.run();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    gradients.emplace_back(engine.captured(i));
    if (!gradients.back().defined() && !options.allow_unused)
      fail<GraphError>("grad: input ", i, " is not used by the outputs; pass allow_unused = true if that is meant");
  }
  return gradients;
}

}  // namespace detail

// The gradients of sum_i <seeds[i], outputs[i]> with respect to `inputs`, leaving those of all leaves alone. `seeds` may be empty
// when every output has one element. Throws GraphError for an input without a graph, or unused unless that is allowed.
template <Scalar T>
std::vector<Tensor<T>> grad(std::span<const Tensor<T>> outputs, std::span<const Tensor<T>> inputs, std::span<const Tensor<T>> seeds,
                            GradOptions options = {}) {
  return detail::gradients_of<T, T>(outputs, inputs, seeds, options);
}

// The same for one output of one element, and for one input.
template <Scalar Out, Scalar T>
std::vector<Tensor<T>> grad(const Tensor<Out>& output, const std::vector<Tensor<T>>& inputs, GradOptions options = {}) {
  return detail::gradients_of<T, Out>(std::span(&output, 1), inputs, {}, options);
}
template <Scalar Out, Scalar T>
Tensor<T> grad(const Tensor<Out>& output, const Tensor<T>& input, GradOptions options = {}) {
  return detail::gradients_of<T, Out>(std::span(&output, 1), std::span(&input, 1), {}, options).front();
}

}  // namespace minitorch
