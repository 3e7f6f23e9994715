// What losses share: the reduction of their terms and the check of their shapes.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/mean.hpp>
#include <minitorch/ops/sum.hpp>

namespace minitorch::detail {

template <Scalar T>
Tensor<T> reduced(const Tensor<T>& terms, LossReduction reduction) {
  if (reduction == LossReduction::none) return terms;
  return reduction == LossReduction::mean ? mean(terms) : sum(terms);
}

// A prediction and what it is compared with do not broadcast: that would hide a mistake.
inline void check_same_shape(const Shape& prediction, const Shape& target, const char* operation) {
  if (!(prediction == target))
    fail<ShapeError>(operation, ": prediction and target must have one shape, got ", prediction, " and ", target);
}

}  // namespace minitorch::detail
