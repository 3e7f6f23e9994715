// What transformers need besides attention, compiled once.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/ops.hpp>

namespace minitorch {

extern template Tensor<double> CrossEntropy::operator()(const Tensor<double>&, const Tensor<std::int64_t>&,
                                                        const CrossEntropyOptions&) const;
extern template Tensor<float> CrossEntropy::operator()(const Tensor<float>&, const Tensor<std::int64_t>&, const CrossEntropyOptions&) const;
extern template Tensor<float> CrossEntropy::operator()(const Tensor<bfloat16>&, const Tensor<std::int64_t>&,
                                                       const CrossEntropyOptions&) const;
extern template Tensor<double> Softmax::operator()(const Tensor<double>&, int) const;
extern template Tensor<float> Softmax::operator()(const Tensor<float>&, int) const;
extern template Tensor<bfloat16> Softmax::operator()(const Tensor<bfloat16>&, int) const;
extern template Tensor<double> LogSoftmax::operator()(const Tensor<double>&, int) const;
extern template Tensor<float> LogSoftmax::operator()(const Tensor<float>&, int) const;
extern template Tensor<bfloat16> LogSoftmax::operator()(const Tensor<bfloat16>&, int) const;
extern template Tensor<double> EmbeddingOp::operator()(const Tensor<std::int64_t>&, const Tensor<double>&, std::int64_t) const;
extern template Tensor<float> EmbeddingOp::operator()(const Tensor<std::int64_t>&, const Tensor<float>&, std::int64_t) const;
extern template Tensor<bfloat16> EmbeddingOp::operator()(const Tensor<std::int64_t>&, const Tensor<bfloat16>&, std::int64_t) const;
extern template Tensor<double> DropoutOp::operator()(const Tensor<double>&, double) const;
extern template Tensor<float> DropoutOp::operator()(const Tensor<float>&, double) const;
extern template Tensor<bfloat16> DropoutOp::operator()(const Tensor<bfloat16>&, double) const;
extern template Tensor<double> LayerNormOp::operator()(const Tensor<double>&, const Tensor<double>&, const Tensor<double>&, double) const;
extern template Tensor<float> LayerNormOp::operator()(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&, double) const;
extern template Tensor<double> RmsNormOp::operator()(const Tensor<double>&, const Tensor<double>&, double) const;
extern template Tensor<float> RmsNormOp::operator()(const Tensor<float>&, const Tensor<float>&, double) const;
extern template Tensor<bfloat16> LayerNormOp::operator()(const Tensor<bfloat16>&, const Tensor<float>&, const Tensor<float>&, double) const;
extern template Tensor<bfloat16> RmsNormOp::operator()(const Tensor<bfloat16>&, const Tensor<float>&, double) const;

}  // namespace minitorch
