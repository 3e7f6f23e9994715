// concatenate: tensors one behind the other along a dimension.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include <minitorch/autograd/placement.hpp>

namespace minitorch {

struct Concatenate : Operation<Concatenate> {
  using Operation<Concatenate>::operator();
  template <Element T>
  Tensor<T> operator()(std::span<const Tensor<T>> parts, int dim = 0) const;
  template <Element T>
  Tensor<T> operator()(const std::vector<Tensor<T>>& parts, int dim = 0) const;
  template <Element T>
  Tensor<T> operator()(std::initializer_list<Tensor<T>> parts, int dim = 0) const;
};
// value     the parts one behind the other along `dim`
// gradient  for each part its range of dy
// saves     nothing
// Throws ShapeError unless the parts agree in every other dimension, ArgumentError for no parts.
inline constexpr Concatenate concatenate;

namespace detail {

// A node with as many edges as there are parts.
template <Scalar T>
class ConcatenateNode final : public GradNode<T> {
 public:
  ConcatenateNode(const Shape& shape, std::span<const Tensor<T>> parts, int dim) : GradNode<T>("concatenate", shape), dim_(dim) {
    for (const Tensor<T>& part : parts) {
      edges_.push_back(part.body()->node);
      lengths_.push_back(part.shape()[dim]);
    }
    this->set_edges(edges_.data(), edges_.size());
  }

 private:
  void run() override {
    const Tensor<T> dy = this->take_gradient();
    std::int64_t start = 0;
    for (std::size_t i = 0; i < edges_.size(); start += lengths_[i], ++i)
      if (edges_[i] && edges_[i]->needed()) typed<T>(edges_[i])->accumulate(take_range(dy, dim_, start, lengths_[i]));
  }

  std::vector<NodeRef> edges_;
  std::vector<std::int64_t> lengths_;
  int dim_;
};

// The shape of the whole. Throws ShapeError.
template <Element T>
Shape concatenated_shape(std::span<const Tensor<T>> parts, int dim) {
  Shape shape = parts.front().shape();
  for (const Tensor<T>& part : parts.subspan(1)) {
    bool fits = part.rank() == shape.rank();
    for (int d = 0; fits && d < shape.rank(); ++d) fits = d == dim || part.shape()[d] == shape[d];
    if (!fits)
      fail<ShapeError>("concatenate: the parts must agree in all dimensions but ", dim, ", got ", parts.front().shape(), " and ",
                       part.shape());
    shape[dim] += part.shape()[dim];
  }
  return shape;
}

}  // namespace detail

template <Element T>
Tensor<T> Concatenate::operator()(std::span<const Tensor<T>> parts, int dim) const {
  if (parts.empty()) fail<ArgumentError>("concatenate: there must be at least one part");
  const int d = parts.front().shape().dim(dim, "concatenate");
  const Shape shape = detail::concatenated_shape(parts, d);
  Tensor<T> out = compute<T>("concatenate", shape, [&](T* to) {
    const std::int64_t outer = shape.product(0, d), inner = shape.product(d + 1, shape.rank());
    for (std::int64_t o = 0; o < outer; ++o)
      for (const Tensor<T>& part : parts) {
        const std::int64_t length = part.shape()[d] * inner;
        to = std::copy_n(part.data() + o * length, length, to);
      }
  });
  if constexpr (Scalar<T>) {
    const bool wanted = std::ranges::any_of(parts, [](const Tensor<T>& part) { return part.requires_grad(); });
    if (thread_state.grad_enabled && wanted) out.body()->node = NodeRef(new detail::ConcatenateNode<T>(shape, parts, d));
  }
  return out;
}

template <Element T>
Tensor<T> Concatenate::operator()(const std::vector<Tensor<T>>& parts, int dim) const {
  return (*this)(std::span<const Tensor<T>>(parts), dim);
}

template <Element T>
Tensor<T> Concatenate::operator()(std::initializer_list<Tensor<T>> parts, int dim) const {
  return (*this)(std::span<const Tensor<T>>(parts.begin(), parts.size()), dim);
}

}  // namespace minitorch
