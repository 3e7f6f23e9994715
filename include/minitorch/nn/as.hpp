// as<U>(module): the module computing in another precision than what it is given.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/arithmetic.hpp>

namespace minitorch::nn {

namespace detail {
template <Scalar U, class M>
struct As {
  const M& module;
  template <Scalar A>
  auto operator()(const Tensor<A>& x) const {
    return module(x.template to<U>());
  }
};
}  // namespace detail

// A view of a module that rounds its input to U first, so that activations and results are U and the parameters keep their type:
// as<bfloat16>(linear)(x) is what PyTorch's autocast does. The module must outlive it.
template <Scalar U, class M>
detail::As<U, M> as(const M& module) {
  return {module};
}

}  // namespace minitorch::nn
