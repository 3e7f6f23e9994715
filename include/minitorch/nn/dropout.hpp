// Dropout as a part of a module: active in training, the identity in use.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/core/error.hpp>
#include <minitorch/ops/dropout.hpp>

namespace minitorch::nn {

class Dropout {
 public:
  double p;
  bool training = true;

  // Throws ArgumentError for p outside of [0, 1].
  explicit Dropout(double probability = 0.5) : p(probability) {
    if (!(p >= 0 && p <= 1)) fail<ArgumentError>("Dropout: p must be in [0, 1], got ", p);
  }

  template <class X>
  X operator()(const X& x) const {
    return training && p > 0 ? X(dropout(x, p)) : x;
  }

  template <class Visitor>
  void visit(Visitor&&) {}
};

}  // namespace minitorch::nn
