// Tensors that share the memory of another: reshape and slices of the leading dimension. Also clone, which does not.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <initializer_list>

#include <minitorch/autograd/record.hpp>

namespace minitorch {

namespace detail {

// The shape that `dims` means for n elements: one -1 stands for what is left.
inline Shape resolve_shape(const Shape& from, std::span<const std::int64_t> dims) {
  std::int64_t known = 1;
  int open = -1;
  Shape shape;
  for (std::int64_t d : dims) {
    if (d == -1 && open < 0) {
      open = shape.rank();
      shape.push_back(1);
    } else {
      shape.push_back(d);
      known *= d;
    }
  }
  if (open >= 0) {
    if (known == 0 || from.numel() % known != 0) fail<ShapeError>("reshape: the open dimension of ", shape, " does not fit shape ", from);
    shape[open] = from.numel() / known;
  }
  return shape;
}

template <Element T>
Tensor<T> share(const Tensor<T>& x, const Shape& shape, std::int64_t offset) {
  auto* body = new TensorBody(dtype_of<T>, shape, x.body()->buffer, x.body()->data + offset * static_cast<std::int64_t>(sizeof(T)));
  body->buffer->mark_views();
  return Tensor<T>(BodyRef(body));
}

}  // namespace detail

template <Element T>
Tensor<T> Tensor<T>::reshape(const Shape& shape) const {
  if (shape.numel() != numel()) fail<ShapeError>("reshape: ", numel(), " elements of shape ", this->shape(), " do not fit shape ", shape);
  Tensor out = detail::share(*this, shape, 0);
  if constexpr (Scalar<T>) {
    return record_view("reshape", std::move(out),
                       wrt(
                           *this, [](const Tensor& dy, const Shape& from) { return dy.reshape(from); }, this->shape()));
  } else {
    return out;
  }
}

template <Element T>
Tensor<T> Tensor<T>::reshape(std::initializer_list<std::int64_t> dims) const {
  return reshape(detail::resolve_shape(shape(), {dims.begin(), dims.size()}));
}

template <Element T>
Tensor<T> Tensor<T>::slice(std::int64_t first, std::int64_t last) const {
  if (rank() == 0) fail<ShapeError>("slice: a scalar has no leading dimension");
  if (first < 0 || first > last || last > shape()[0])
    fail<ArgumentError>("slice: the range [", first, ", ", last, ") is not inside the leading dimension of shape ", shape());
  Shape piece = shape();
  piece[0] = last - first;
  Tensor out = detail::share(*this, piece, first * shape().product(1, rank()));
  if constexpr (Scalar<T>) {
    return record_view("slice", std::move(out),
                       wrt(
                           *this,
                           [](const Tensor& dy, std::int64_t start) {
                             return Placement<T>{dy, 0, start};
                           },
                           first));
  } else {
    return out;
  }
}

template <Element T>
Tensor<T> Tensor<T>::operator[](std::int64_t index) const {
  if (rank() == 0) fail<ShapeError>("[]: a scalar has no leading dimension");
  if (index < 0 || index >= shape()[0]) fail<ArgumentError>("[]: index ", index, " is out of range for shape ", shape());
  return slice(index, index + 1).reshape(Shape(std::span(shape().begin() + 1, shape().end())));
}

template <Element T>
Tensor<T> Tensor<T>::clone() const {
  const auto copy = [this](T* out) { std::memcpy(out, data(), static_cast<std::size_t>(numel()) * sizeof(T)); };
  if constexpr (Scalar<T>) {
    return record<T>("clone", shape(), copy, wrt(*this, pass_on));
  } else {
    return compute<T>("clone", shape(), copy);
  }
}

}  // namespace minitorch
