// composite_grad: the gradient of a composite definition, recorded. What a fused rule returns when backward itself is differentiated.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

#include <minitorch/autograd/engine.hpp>
#include <minitorch/autograd/view.hpp>

namespace minitorch::detail {

// The gradients of <dy, f(x...)> with respect to each x, undefined for one that needs none. Each x has a place of its own in the
// graph while f runs: one may depend on another.
template <class F, Scalar R, Scalar... D>
std::tuple<Tensor<D>...> composite_grad(F f, const Tensor<R>& dy, const Tensor<D>&... x) {
  const auto wants = [](const auto& tensor) { return tensor.defined() && tensor.requires_grad(); };
  const std::tuple<Tensor<D>...> inputs((wants(x) ? x.reshape(x.shape()) : x)...);
  const Tensor<R> y = std::apply(f, inputs);
  Engine engine({.retain_graph = true, .create_graph = true});
  std::size_t next = 0;
  std::apply([&](const auto&... input) { ((wants(input) ? engine.capture(input) : void()), ...); }, inputs);
  if (y.requires_grad()) engine.add_root(y, dy);
  engine.run();
  const auto gradient_of = [&]<Scalar U>(const Tensor<U>& input) {
    return wants(input) ? Tensor<U>(engine.captured(next++)) : Tensor<U>{};
  };
  return {gradient_of(x)...};
}

}  // namespace minitorch::detail
