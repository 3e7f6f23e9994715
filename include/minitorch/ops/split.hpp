// split and chunk: a tensor in pieces along a dimension.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include <minitorch/autograd/placement.hpp>
#include <minitorch/autograd/view.hpp>

namespace minitorch {

struct Split : Operation<Split> {
  using Operation<Split>::operator();
  template <Element T>
  std::vector<Tensor<T>> operator()(const Tensor<T>& x, std::span<const std::int64_t> lengths, int dim = 0) const;
  template <Element T>
  std::vector<Tensor<T>> operator()(const Tensor<T>& x, std::initializer_list<std::int64_t> lengths, int dim = 0) const;
};
// value     pieces of the given lengths along `dim`; those of the leading dimension share the data
// gradient  each piece's dy at its place
// saves     nothing
// Throws ShapeError unless the lengths add up to the dimension.
inline constexpr Split split;

struct Chunk : Operation<Chunk> {
  using Operation<Chunk>::operator();
  template <Element T>
  std::vector<Tensor<T>> operator()(const Tensor<T>& x, std::int64_t count, int dim = 0) const;
};
// `count` pieces of one length. Throws ShapeError unless the dimension is a multiple of it.
inline constexpr Chunk chunk;

template <Element T>
std::vector<Tensor<T>> Split::operator()(const Tensor<T>& x, std::span<const std::int64_t> lengths, int dim) const {
  const int d = x.shape().dim(dim, "split");
  std::int64_t start = 0;
  for (std::int64_t length : lengths) start += length;
  if (start != x.shape()[d]) fail<ShapeError>("split: lengths of ", start, " in all do not cover dimension ", d, " of shape ", x.shape());
  std::vector<Tensor<T>> pieces;
  start = 0;
  for (std::int64_t length : lengths) {
    pieces.push_back(d == 0 ? x.slice(start, start + length) : take_range(x, d, start, length));
    start += length;
  }
  return pieces;
}

template <Element T>
std::vector<Tensor<T>> Split::operator()(const Tensor<T>& x, std::initializer_list<std::int64_t> lengths, int dim) const {
  return (*this)(x, std::span(lengths.begin(), lengths.size()), dim);
}

template <Element T>
std::vector<Tensor<T>> Chunk::operator()(const Tensor<T>& x, std::int64_t count, int dim) const {
  const std::int64_t size = x.shape()[x.shape().dim(dim, "chunk")];
  if (count < 1 || size % count != 0) fail<ShapeError>("chunk: dimension ", dim, " of shape ", x.shape(), " is no multiple of ", count);
  return split(x, std::vector<std::int64_t>(static_cast<std::size_t>(count), size / count), dim);
}

}  // namespace minitorch
