// The engine and its operations, compiled once.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/autograd.hpp>

namespace minitorch {

extern template class Tensor<double>;
extern template class Tensor<float>;
extern template class Tensor<half>;
extern template class Tensor<bfloat16>;
extern template class GradNode<double>;
extern template class GradNode<float>;
extern template class GradNode<half>;
extern template class GradNode<bfloat16>;
extern template class detail::OpNode<double>;
extern template class detail::OpNode<float>;
extern template class detail::OpNode<half>;
extern template class detail::OpNode<bfloat16>;
extern template class Leaf<double>;
extern template class Leaf<float>;
extern template class Leaf<half>;
extern template class Leaf<bfloat16>;

extern template Tensor<double> Add::operator()(const Tensor<double>&, const Tensor<double>&) const;
extern template Tensor<float> Add::operator()(const Tensor<float>&, const Tensor<float>&) const;
extern template Tensor<half> Add::operator()(const Tensor<half>&, const Tensor<half>&) const;
extern template Tensor<bfloat16> Add::operator()(const Tensor<bfloat16>&, const Tensor<bfloat16>&) const;
extern template Tensor<double> Add::operator()(const Tensor<double>&, double) const;
extern template Tensor<float> Add::operator()(const Tensor<float>&, float) const;
extern template Tensor<half> Add::operator()(const Tensor<half>&, float) const;
extern template Tensor<bfloat16> Add::operator()(const Tensor<bfloat16>&, float) const;
extern template Tensor<double> sum_to(const Tensor<double>&, const Shape&);
extern template Tensor<float> sum_to(const Tensor<float>&, const Shape&);
extern template Tensor<half> sum_to(const Tensor<half>&, const Shape&);
extern template Tensor<bfloat16> sum_to(const Tensor<bfloat16>&, const Shape&);
extern template Tensor<double> expand(const Tensor<double>&, const Shape&);
extern template Tensor<float> expand(const Tensor<float>&, const Shape&);
extern template Tensor<half> expand(const Tensor<half>&, const Shape&);
extern template Tensor<bfloat16> expand(const Tensor<bfloat16>&, const Shape&);
extern template Tensor<double> take_range(const Tensor<double>&, int, std::int64_t, std::int64_t);
extern template Tensor<float> take_range(const Tensor<float>&, int, std::int64_t, std::int64_t);
extern template Tensor<half> take_range(const Tensor<half>&, int, std::int64_t, std::int64_t);
extern template Tensor<bfloat16> take_range(const Tensor<bfloat16>&, int, std::int64_t, std::int64_t);
extern template Tensor<double> take_rows(const Tensor<double>&, const Tensor<std::int64_t>&);
extern template Tensor<float> take_rows(const Tensor<float>&, const Tensor<std::int64_t>&);
extern template Tensor<half> take_rows(const Tensor<half>&, const Tensor<std::int64_t>&);
extern template Tensor<bfloat16> take_rows(const Tensor<bfloat16>&, const Tensor<std::int64_t>&);
extern template Tensor<double> materialize(const Placement<double>&, const Shape&);
extern template Tensor<float> materialize(const Placement<float>&, const Shape&);
extern template Tensor<half> materialize(const Placement<half>&, const Shape&);
extern template Tensor<bfloat16> materialize(const Placement<bfloat16>&, const Shape&);
extern template Tensor<double> materialize(const RowScatter<double>&, const Shape&);
extern template Tensor<float> materialize(const RowScatter<float>&, const Shape&);
extern template Tensor<half> materialize(const RowScatter<half>&, const Shape&);
extern template Tensor<bfloat16> materialize(const RowScatter<bfloat16>&, const Shape&);
extern template Tensor<double> MatMul::operator()(const Tensor<double>&, const Tensor<double>&, Transposes) const;
extern template Tensor<float> MatMul::operator()(const Tensor<float>&, const Tensor<float>&, Transposes) const;
extern template Tensor<half> MatMul::operator()(const Tensor<half>&, const Tensor<half>&, Transposes) const;
extern template Tensor<bfloat16> MatMul::operator()(const Tensor<bfloat16>&, const Tensor<bfloat16>&, Transposes) const;
extern template Tensor<half> MatMul::operator()(const Tensor<half>&, const Tensor<float>&, Transposes) const;
extern template Tensor<bfloat16> MatMul::operator()(const Tensor<bfloat16>&, const Tensor<float>&, Transposes) const;

}  // namespace minitorch
