// New tensors from values, patterns and memory of others.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>

#include <minitorch/autograd/compute.hpp>
#include <minitorch/autograd/tensor.hpp>

namespace minitorch {

// Every element `value`.
template <Element T>
Tensor<T> full(const Shape& shape, std::type_identity_t<T> value) {
  return compute<T>("full", shape, [&](T* out) { std::fill_n(out, shape.numel(), value); });
}
template <Element T>
Tensor<T> zeros(const Shape& shape) {
  return full<T>(shape, T(0));
}
template <Element T>
Tensor<T> ones(const Shape& shape) {
  return full<T>(shape, T(1));
}
template <Element T>
Tensor<T> zeros_like(const Tensor<T>& x) {
  return zeros<T>(x.shape());
}
template <Element T>
Tensor<T> ones_like(const Tensor<T>& x) {
  return ones<T>(x.shape());
}

// A tensor of rank 0.
template <Element T>
Tensor<T> scalar(std::type_identity_t<T> value) {
  return full<T>({}, value);
}

// first, first + step, ... up to but without last. Throws ArgumentError for a step of zero or of the wrong sign.
template <Element T>
requires(!std::same_as<T, bool>) Tensor<T> arange(std::type_identity_t<compute_t<T>> first, std::type_identity_t<compute_t<T>> last,
                                                  std::type_identity_t<compute_t<T>> step = 1) {
  const double span = static_cast<double>(last) - static_cast<double>(first), width = static_cast<double>(step);
  if (!(width != 0 && span / width >= 0)) fail<ArgumentError>("arange: a step of ", step, " does not lead from ", first, " to ", last);
  const auto count = static_cast<std::int64_t>(std::ceil(span / width));
  return compute<T>("arange", {count}, [&](T* out) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(first + static_cast<compute_t<T>>(i) * step);
  });
}

// The values in row-major order. Throws ShapeError unless their number fits the shape.
template <Element T>
Tensor<T> from_values(std::span<const T> values, const Shape& shape) {
  if (static_cast<std::int64_t>(values.size()) != shape.numel())
    fail<ShapeError>("tensor: ", values.size(), " values do not fill shape ", shape);
  return compute<T>("tensor", shape, [&](T* out) { std::copy(values.begin(), values.end(), out); });
}

// A vector, or a matrix by rows: tensor<double>({1, 2, 3}), tensor<double>({{1, 2}, {3, 4}}).
template <Element T>
Tensor<T> tensor(std::initializer_list<T> values) {
  return from_values<T>({values.begin(), values.size()}, {static_cast<std::int64_t>(values.size())});
}
template <Element T>
Tensor<T> tensor(std::initializer_list<std::initializer_list<T>> rows) {
  const std::size_t columns = rows.size() == 0 ? 0 : rows.begin()->size();
  Tensor<T> out = Tensor<T>::empty({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns)});
  T* to = out.mutable_data();
  for (const auto& row : rows) {
    if (row.size() != columns) fail<ShapeError>("tensor: rows of ", columns, " and of ", row.size(), " values");
    to = std::copy(row.begin(), row.end(), to);
  }
  return out;
}

// Memory of somebody else, row-major, not copied; `release` is called when the last tensor on it is gone. Without one the memory
// must outlive them all.
template <Element T>
Tensor<T> wrap(T* data, const Shape& shape, std::function<void()> release = {}) {
  BufferRef buffer = BufferRef::wrap(data, shape.numel() * static_cast<std::int64_t>(sizeof(T)), std::move(release));
  return Tensor<T>(BodyRef(new TensorBody(dtype_of<T>, shape, std::move(buffer), reinterpret_cast<std::byte*>(data))));
}

}  // namespace minitorch
