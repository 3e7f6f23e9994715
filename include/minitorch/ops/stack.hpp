// stack: tensors of one shape along a new dimension.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <minitorch/autograd/view.hpp>
#include <minitorch/ops/concatenate.hpp>

namespace minitorch {

struct Stack : Operation<Stack> {
  using Operation<Stack>::operator();
  template <Element T>
  Tensor<T> operator()(const std::vector<Tensor<T>>& parts, int dim = 0) const;
};
// value     the parts beside each other along a new dimension `dim`
// gradient  for each part its slice of dy
// saves     nothing
// Throws ShapeError unless the parts have one shape, ArgumentError for no parts.
inline constexpr Stack stack;

template <Element T>
Tensor<T> Stack::operator()(const std::vector<Tensor<T>>& parts, int dim) const {
  if (parts.empty()) fail<ArgumentError>("stack: there must be at least one part");
  const int rank = parts.front().rank() + 1, at = dim < 0 ? dim + rank : dim;
  if (at < 0 || at >= rank) fail<ShapeError>("stack: dimension ", dim, " is out of range for parts of shape ", parts.front().shape());
  std::vector<Tensor<T>> widened;
  for (const Tensor<T>& part : parts) {
    if (!(part.shape() == parts.front().shape()))
      fail<ShapeError>("stack: the parts must have one shape, got ", parts.front().shape(), " and ", part.shape());
    Shape shape;
    for (int d = 0; d < rank; ++d) shape.push_back(d == at ? 1 : part.shape()[d < at ? d : d - 1]);
    widened.push_back(part.reshape(shape));
  }
  return concatenate(widened, at);
}

}  // namespace minitorch
