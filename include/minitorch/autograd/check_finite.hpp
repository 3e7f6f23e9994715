// What anomaly mode asks of every result.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include <minitorch/autograd/tensor.hpp>

namespace minitorch {

// Throws GraphError, in the name of what computed it, if `values` holds a NaN or an infinity.
template <Element T>
void check_finite(const char* name, const Tensor<T>& values) {
  if constexpr (Scalar<T>) {
    for (T value : values.values())
      if (!std::isfinite(static_cast<double>(value)))
        fail<GraphError>(name, ": the result of shape ", values.shape(), " holds ", static_cast<double>(value));
  }
}

}  // namespace minitorch
