// Linear: x W^T + b.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <minitorch/nn/init.hpp>
#include <minitorch/nn/module.hpp>
#include <minitorch/ops/linear.hpp>

namespace minitorch::nn {

struct LinearOptions {
  bool bias = true;
  // What to start with; PyTorch's choice, uniform within 1 / sqrt(in), unless it is given.
  std::optional<Init> weight_init = {};
  std::optional<Init> bias_init = {};
};

// Called with activations of another precision than its parameters (bfloat16 or half, and float), it computes in that of the
// activations, and the gradients of its parameters keep theirs.
template <Scalar T>
class Linear : detail::MoveOnly {
 public:
  Tensor<T> weight;  // [out, in]
  Tensor<T> bias;    // [out]; undefined without one

  Linear(std::int64_t in, std::int64_t out, const LinearOptions& options = {}) : Linear(Window::whole({out, in}), options) {}

  // A slice of a layer whose whole weight is [out, in]: with the same random numbers, exactly its part of the whole one.
  explicit Linear(const Window& part, const LinearOptions& options = {}) {
    const Init init = Init::fan_in(part.global[1]);
    weight = parameter<T>(part, options.weight_init.value_or(init));
    if (options.bias) bias = parameter<T>(Window{{part.offset[0]}, {part.local[0]}, {part.global[0]}}, options.bias_init.value_or(init));
  }

  // A layer of given parameters.
  explicit Linear(Tensor<T> w, Tensor<T> b = {}) : weight(std::move(w)), bias(std::move(b)) {}

  Linear clone() const { return Linear(detail::Cloner::copy(weight), detail::Cloner::copy(bias)); }

  // x [..., in] gives [..., out] in the type of x. Throws ShapeError unless the last dimension is `in`.
  template <class X>
  auto operator()(const X& x) const {
    return linear(x, weight, bias);
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight);
    v("bias", bias);
  }
};

}  // namespace minitorch::nn
