// Operations of two operands, compiled once.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/ops.hpp>

namespace minitorch {

extern template Tensor<double> Sub::operator()(const Tensor<double>&, const Tensor<double>&) const;
extern template Tensor<float> Sub::operator()(const Tensor<float>&, const Tensor<float>&) const;
extern template Tensor<half> Sub::operator()(const Tensor<half>&, const Tensor<half>&) const;
extern template Tensor<bfloat16> Sub::operator()(const Tensor<bfloat16>&, const Tensor<bfloat16>&) const;
extern template Tensor<double> Mul::operator()(const Tensor<double>&, const Tensor<double>&) const;
extern template Tensor<float> Mul::operator()(const Tensor<float>&, const Tensor<float>&) const;
extern template Tensor<half> Mul::operator()(const Tensor<half>&, const Tensor<half>&) const;
extern template Tensor<bfloat16> Mul::operator()(const Tensor<bfloat16>&, const Tensor<bfloat16>&) const;
extern template Tensor<double> Div::operator()(const Tensor<double>&, const Tensor<double>&) const;
extern template Tensor<float> Div::operator()(const Tensor<float>&, const Tensor<float>&) const;
extern template Tensor<half> Div::operator()(const Tensor<half>&, const Tensor<half>&) const;
extern template Tensor<bfloat16> Div::operator()(const Tensor<bfloat16>&, const Tensor<bfloat16>&) const;
extern template Tensor<double> Sub::operator()(const Tensor<double>&, double) const;
extern template Tensor<float> Sub::operator()(const Tensor<float>&, float) const;
extern template Tensor<half> Sub::operator()(const Tensor<half>&, float) const;
extern template Tensor<bfloat16> Sub::operator()(const Tensor<bfloat16>&, float) const;
extern template Tensor<double> Mul::operator()(const Tensor<double>&, double) const;
extern template Tensor<float> Mul::operator()(const Tensor<float>&, float) const;
extern template Tensor<half> Mul::operator()(const Tensor<half>&, float) const;
extern template Tensor<bfloat16> Mul::operator()(const Tensor<bfloat16>&, float) const;
extern template Tensor<double> Div::operator()(const Tensor<double>&, double) const;
extern template Tensor<float> Div::operator()(const Tensor<float>&, float) const;
extern template Tensor<half> Div::operator()(const Tensor<half>&, float) const;
extern template Tensor<bfloat16> Div::operator()(const Tensor<bfloat16>&, float) const;
extern template Tensor<double> Sub::operator()(double, const Tensor<double>&) const;
extern template Tensor<float> Sub::operator()(float, const Tensor<float>&) const;
extern template Tensor<half> Sub::operator()(float, const Tensor<half>&) const;
extern template Tensor<bfloat16> Sub::operator()(float, const Tensor<bfloat16>&) const;
extern template Tensor<double> Div::operator()(double, const Tensor<double>&) const;
extern template Tensor<float> Div::operator()(float, const Tensor<float>&) const;
extern template Tensor<half> Div::operator()(float, const Tensor<half>&) const;
extern template Tensor<bfloat16> Div::operator()(float, const Tensor<bfloat16>&) const;
extern template Tensor<double> grad_mul(const Tensor<double>&, const Tensor<double>&);
extern template Tensor<float> grad_mul(const Tensor<float>&, const Tensor<float>&);
extern template Tensor<half> grad_mul(const Tensor<half>&, const Tensor<half>&);
extern template Tensor<bfloat16> grad_mul(const Tensor<bfloat16>&, const Tensor<bfloat16>&);
extern template Tensor<double> grad_div(const Tensor<double>&, const Tensor<double>&);
extern template Tensor<float> grad_div(const Tensor<float>&, const Tensor<float>&);
extern template Tensor<half> grad_div(const Tensor<half>&, const Tensor<half>&);
extern template Tensor<bfloat16> grad_div(const Tensor<bfloat16>&, const Tensor<bfloat16>&);

}  // namespace minitorch
