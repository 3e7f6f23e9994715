// gather, index_select and one_hot: elements by index.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include <minitorch/autograd/placement.hpp>
#include <minitorch/ops/max.hpp>
#include <minitorch/ops/permute.hpp>

namespace minitorch {

struct Gather : Operation<Gather> {
  using Operation<Gather>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, int dim, const Tensor<std::int64_t>& index) const;
};
// value     y[.., i, ..] = x[.., index[.., i, ..], ..] with the index along `dim`; the shape of index
// gradient  dy added to where it came from
// saves     index
// index may be shorter than x along `dim` alone. Throws ArgumentError for an index out of range, ShapeError for another shape.
inline constexpr Gather gather;

struct IndexSelect : Operation<IndexSelect> {
  using Operation<IndexSelect>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, int dim, const Tensor<std::int64_t>& index) const;
};
// value     the slices index[0], index[1], ... of x along `dim`
// gradient  the slices of dy added to where they came from
// saves     index
inline constexpr IndexSelect index_select;

// Rows of zeros with a 1 at the index: [..., classes]. Throws ArgumentError for an index outside of [0, classes).
template <Element T>
Tensor<T> one_hot(const Tensor<std::int64_t>& index, std::int64_t classes) {
  Shape shape = index.shape();
  shape.push_back(classes);
  return compute<T>("one_hot", shape, [&](T* out) {
    std::fill_n(out, shape.numel(), T(0));
    for (std::int64_t at : index.values()) {
      if (at < 0 || at >= classes) fail<ArgumentError>("one_hot: an index must be in [0, ", classes, "), got ", at);
      out[at] = T(1);
      out += classes;
    }
  });
}

namespace detail {

// Calls body(position in the gathered tensor, position in the source) for tensors that differ along one dimension.
template <class Body>
void for_gathered(const Shape& from, int d, const Tensor<std::int64_t>& index, Body body) {
  const std::int64_t inner = from.product(d + 1, from.rank()), count = index.shape()[d], size = from[d];
  for (std::int64_t i = 0; i < index.numel(); ++i) body(i, (i / (count * inner) * size + index.data()[i]) * inner + i % inner);
}

template <Scalar T>
Tensor<T> gathered(const Tensor<T>& x, int d, const Tensor<std::int64_t>& index);

// The transpose of gather: dy added to a tensor of zeros, in the accumulation type.
template <Scalar T>
Tensor<T> scattered(const Tensor<T>& dy, const Shape& to, int d, const Tensor<std::int64_t>& index) {
  return record<T>(
      "gather gradient", to,
      [&](T* out) {
        Workspace<compute_t<T>> wide(to.numel());
        std::fill_n(wide.data(), to.numel(), compute_t<T>(0));
        for_gathered(to, d, index, [&](std::int64_t at, std::int64_t source) { wide[source] += static_cast<compute_t<T>>(dy.data()[at]); });
        kernels::convert(to.numel(), out, static_cast<const compute_t<T>*>(wide.data()));
      },
      wrt(
          dy, [](const Tensor<T>& g, int along, const Tensor<std::int64_t>& where_from) { return gathered(g, along, where_from); }, d,
          index));
}

template <Scalar T>
Tensor<T> gathered(const Tensor<T>& x, int d, const Tensor<std::int64_t>& index) {
  return record<T>(
      "gather", index.shape(),
      [&](T* out) { for_gathered(x.shape(), d, index, [&](std::int64_t at, std::int64_t source) { out[at] = x.data()[source]; }); },
      wrt(
          x,
          [](const Tensor<T>& dy, const Shape& to, int along, const Tensor<std::int64_t>& where_from) {
            return scattered(dy, to, along, where_from);
          },
          x.shape(), d, index));
}

}  // namespace detail

template <Scalar T>
Tensor<T> Gather::operator()(const Tensor<T>& x, int dim, const Tensor<std::int64_t>& index) const {
  const int d = x.shape().dim(dim, "gather");
  bool fits = index.rank() == x.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = i == d || index.shape()[i] == x.shape()[i];
  if (!fits) fail<ShapeError>("gather: x and the index must agree in all dimensions but ", d, ", got ", x.shape(), " and ", index.shape());
  for (std::int64_t at : index.values())
    if (at < 0 || at >= x.shape()[d]) fail<ArgumentError>("gather: an index must be in [0, ", x.shape()[d], "), got ", at);
  return detail::gathered(x, d, index);
}

template <Scalar T>
Tensor<T> IndexSelect::operator()(const Tensor<T>& x, int dim, const Tensor<std::int64_t>& index) const {
  const int d = x.shape().dim(dim, "index_select");
  if (index.rank() != 1) fail<ShapeError>("index_select: the index must have one dimension, got shape ", index.shape());
  if (d == 0) return take_rows(x, index);
  return transposed(take_rows(transposed(x, 0, d), index), 0, d);
}

template <Scalar T>
ValueAndIndex<T> MaxWithIndex::operator()(const Tensor<T>& x, int dim, bool keepdim) const {
  const int d = x.shape().dim(dim, "max_with_index");
  const detail::ReducedShape shape(x.shape(), d, "max_with_index");
  const Tensor<std::int64_t> index = argmax(x, d, true);
  return {detail::gathered(x, d, index).reshape(shape.get(keepdim)), index.reshape(shape.get(keepdim))};
}

}  // namespace minitorch
