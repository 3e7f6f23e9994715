// Attention, compiled once.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/ops.hpp>

namespace minitorch {

extern template Tensor<double> AttentionOp::operator()(const Tensor<double>&, const Tensor<double>&, const Tensor<double>&,
                                                       const AttentionOptions&, const Tensor<bool>&) const;
extern template Tensor<float> AttentionOp::operator()(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&,
                                                      const AttentionOptions&, const Tensor<bool>&) const;
extern template Tensor<bfloat16> AttentionOp::operator()(const Tensor<bfloat16>&, const Tensor<bfloat16>&, const Tensor<bfloat16>&,
                                                         const AttentionOptions&, const Tensor<bool>&) const;

}  // namespace minitorch
