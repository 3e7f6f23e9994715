// bce_with_logits: binary cross entropy of logits.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/loss.hpp>
#include <minitorch/ops/softplus.hpp>
#include <minitorch/ops/sub.hpp>

namespace minitorch {

struct BceWithLogits : Operation<BceWithLogits> {
  using Operation<BceWithLogits>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& logits, const Tensor<T>& target, LossReduction reduction = LossReduction::mean) const;
};
// value     -t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)) = log(1 + e^x) - t x, averaged, summed or as it is
// gradient  dy (sigmoid(x) - t) / n for a mean over n
// saves     x, t
// Throws ShapeError unless the shapes are equal.
inline constexpr BceWithLogits bce_with_logits;

template <Scalar T>
Tensor<T> BceWithLogits::operator()(const Tensor<T>& logits, const Tensor<T>& target, LossReduction reduction) const {
  detail::check_same_shape(logits.shape(), target.shape(), "bce_with_logits");
  return detail::reduced(sub(softplus(logits), mul(target, logits)), reduction);
}

}  // namespace minitorch
