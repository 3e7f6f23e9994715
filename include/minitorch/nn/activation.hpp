// Activations as parts of a module.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/visit.hpp>
#include <minitorch/ops/ops.hpp>

namespace minitorch::nn {

// A module without parameters that applies an elementwise operation.
template <const auto& Operation>
struct Activation {
  template <class X>
  auto operator()(const X& x) const {
    return Operation(x);
  }
  template <class Visitor>
  void visit(Visitor&&) {}
};

using GELU = Activation<gelu>;  // exact, through the error function
using GELUTanh = Activation<gelu_tanh>;
using ReLU = Activation<relu>;
using Sigmoid = Activation<sigmoid>;
using Tanh = Activation<tanh>;

}  // namespace minitorch::nn
