// Elementwise operations of one tensor, compiled once.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/ops.hpp>

namespace minitorch {

extern template Tensor<double> Neg::operator()(const Tensor<double>&) const;
extern template Tensor<float> Neg::operator()(const Tensor<float>&) const;
extern template Tensor<half> Neg::operator()(const Tensor<half>&) const;
extern template Tensor<bfloat16> Neg::operator()(const Tensor<bfloat16>&) const;
extern template Tensor<double> Exp::operator()(const Tensor<double>&) const;
extern template Tensor<float> Exp::operator()(const Tensor<float>&) const;
extern template Tensor<half> Exp::operator()(const Tensor<half>&) const;
extern template Tensor<bfloat16> Exp::operator()(const Tensor<bfloat16>&) const;
extern template Tensor<double> Gelu::operator()(const Tensor<double>&) const;
extern template Tensor<float> Gelu::operator()(const Tensor<float>&) const;
extern template Tensor<half> Gelu::operator()(const Tensor<half>&) const;
extern template Tensor<bfloat16> Gelu::operator()(const Tensor<bfloat16>&) const;
extern template Tensor<double> GeluTanh::operator()(const Tensor<double>&) const;
extern template Tensor<float> GeluTanh::operator()(const Tensor<float>&) const;
extern template Tensor<half> GeluTanh::operator()(const Tensor<half>&) const;
extern template Tensor<bfloat16> GeluTanh::operator()(const Tensor<bfloat16>&) const;
extern template Tensor<double> Relu::operator()(const Tensor<double>&) const;
extern template Tensor<float> Relu::operator()(const Tensor<float>&) const;
extern template Tensor<half> Relu::operator()(const Tensor<half>&) const;
extern template Tensor<bfloat16> Relu::operator()(const Tensor<bfloat16>&) const;
extern template Tensor<double> Rsqrt::operator()(const Tensor<double>&) const;
extern template Tensor<float> Rsqrt::operator()(const Tensor<float>&) const;
extern template Tensor<half> Rsqrt::operator()(const Tensor<half>&) const;
extern template Tensor<bfloat16> Rsqrt::operator()(const Tensor<bfloat16>&) const;
extern template Tensor<double> Sigmoid::operator()(const Tensor<double>&) const;
extern template Tensor<float> Sigmoid::operator()(const Tensor<float>&) const;
extern template Tensor<half> Sigmoid::operator()(const Tensor<half>&) const;
extern template Tensor<bfloat16> Sigmoid::operator()(const Tensor<bfloat16>&) const;
extern template Tensor<double> Silu::operator()(const Tensor<double>&) const;
extern template Tensor<float> Silu::operator()(const Tensor<float>&) const;
extern template Tensor<half> Silu::operator()(const Tensor<half>&) const;
extern template Tensor<bfloat16> Silu::operator()(const Tensor<bfloat16>&) const;
extern template Tensor<double> Square::operator()(const Tensor<double>&) const;
extern template Tensor<float> Square::operator()(const Tensor<float>&) const;
extern template Tensor<half> Square::operator()(const Tensor<half>&) const;
extern template Tensor<bfloat16> Square::operator()(const Tensor<bfloat16>&) const;
extern template Tensor<double> Tanh::operator()(const Tensor<double>&) const;
extern template Tensor<float> Tanh::operator()(const Tensor<float>&) const;
extern template Tensor<half> Tanh::operator()(const Tensor<half>&) const;
extern template Tensor<bfloat16> Tanh::operator()(const Tensor<bfloat16>&) const;

}  // namespace minitorch
