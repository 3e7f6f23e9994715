// mse_loss: squared differences.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/loss.hpp>
#include <minitorch/ops/square.hpp>
#include <minitorch/ops/sub.hpp>

namespace minitorch {

struct MseLoss : Operation<MseLoss> {
  using Operation<MseLoss>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& prediction, const Tensor<T>& target, LossReduction reduction = LossReduction::mean) const;
};
// value     (prediction - target)^2, averaged, summed or as it is
// gradient  2 dy (prediction - target) / n for a mean over n
// saves     prediction - target
// Throws ShapeError unless the shapes are equal.
inline constexpr MseLoss mse_loss;

template <Scalar T>
Tensor<T> MseLoss::operator()(const Tensor<T>& prediction, const Tensor<T>& target, LossReduction reduction) const {
  detail::check_same_shape(prediction.shape(), target.shape(), "mse_loss");
  return detail::reduced(square(sub(prediction, target)), reduction);
}

}  // namespace minitorch
