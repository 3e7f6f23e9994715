// Reductions, losses and layers' operations, compiled once.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/ops.hpp>

namespace minitorch {

extern template Tensor<double> Sum::operator()(const Tensor<double>&, const Dims&, bool) const;
extern template Tensor<float> Sum::operator()(const Tensor<float>&, const Dims&, bool) const;
extern template Tensor<half> Sum::operator()(const Tensor<half>&, const Dims&, bool) const;
extern template Tensor<bfloat16> Sum::operator()(const Tensor<bfloat16>&, const Dims&, bool) const;
extern template Tensor<double> Mean::operator()(const Tensor<double>&, const Dims&, bool) const;
extern template Tensor<float> Mean::operator()(const Tensor<float>&, const Dims&, bool) const;
extern template Tensor<half> Mean::operator()(const Tensor<half>&, const Dims&, bool) const;
extern template Tensor<bfloat16> Mean::operator()(const Tensor<bfloat16>&, const Dims&, bool) const;
extern template Tensor<double> MseLoss::operator()(const Tensor<double>&, const Tensor<double>&, LossReduction) const;
extern template Tensor<float> MseLoss::operator()(const Tensor<float>&, const Tensor<float>&, LossReduction) const;
extern template Tensor<half> MseLoss::operator()(const Tensor<half>&, const Tensor<half>&, LossReduction) const;
extern template Tensor<bfloat16> MseLoss::operator()(const Tensor<bfloat16>&, const Tensor<bfloat16>&, LossReduction) const;
extern template Tensor<double> LinearOp::operator()(const Tensor<double>&, const Tensor<double>&, const Tensor<double>&) const;
extern template Tensor<float> LinearOp::operator()(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&) const;
extern template Tensor<half> LinearOp::operator()(const Tensor<half>&, const Tensor<half>&, const Tensor<half>&) const;
extern template Tensor<bfloat16> LinearOp::operator()(const Tensor<bfloat16>&, const Tensor<bfloat16>&, const Tensor<bfloat16>&) const;
extern template Tensor<double> Concatenate::operator()(std::span<const Tensor<double>>, int) const;
extern template Tensor<float> Concatenate::operator()(std::span<const Tensor<float>>, int) const;
extern template Tensor<half> Concatenate::operator()(std::span<const Tensor<half>>, int) const;
extern template Tensor<bfloat16> Concatenate::operator()(std::span<const Tensor<bfloat16>>, int) const;
extern template Tensor<half> LinearOp::operator()(const Tensor<half>&, const Tensor<float>&, const Tensor<float>&) const;
extern template Tensor<bfloat16> LinearOp::operator()(const Tensor<bfloat16>&, const Tensor<float>&, const Tensor<float>&) const;

}  // namespace minitorch
