// l1_loss: absolute differences.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/abs.hpp>
#include <minitorch/ops/loss.hpp>
#include <minitorch/ops/sub.hpp>

namespace minitorch {

struct L1Loss : Operation<L1Loss> {
  using Operation<L1Loss>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& prediction, const Tensor<T>& target, LossReduction reduction = LossReduction::mean) const;
};
// value     |prediction - target|, averaged, summed or as it is
// gradient  dy sign(prediction - target) / n for a mean over n
// saves     prediction - target
// Throws ShapeError unless the shapes are equal.
inline constexpr L1Loss l1_loss;

template <Scalar T>
Tensor<T> L1Loss::operator()(const Tensor<T>& prediction, const Tensor<T>& target, LossReduction reduction) const {
  detail::check_same_shape(prediction.shape(), target.shape(), "l1_loss");
  return detail::reduced(abs(sub(prediction, target)), reduction);
}

}  // namespace minitorch
