// add and the conversion between scalar types, which the engine records itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include <minitorch/autograd/broadcast.hpp>
#include <minitorch/autograd/engine_ops.hpp>
#include <minitorch/autograd/record.hpp>
#include <minitorch/kernels/convert.hpp>
#include <minitorch/kernels/map_broadcast.hpp>

namespace minitorch {

namespace detail {

// out = f(a, b), broadcast.
template <class F, Element T, Element A, Element B>
void map_pair(const Shape& shape, F f, T* out, const Tensor<A>& a, const Tensor<B>& b) {
  kernels::map_broadcast(shape, f, out, kernels::broadcast_operand(a.data(), a.shape()), kernels::broadcast_operand(b.data(), b.shape()));
}

// The shape of a result of two operands: no work when they are equal, the usual case.
inline Shape common_shape(const Shape& a, const Shape& b, const char* operation) { return a == b ? a : broadcast_shapes(a, b, operation); }

}  // namespace detail

template <Scalar T>
Tensor<T> Add::operator()(const Tensor<T>& a, const Tensor<T>& b) const {
  Shape broadcast;
  const Shape& shape = a.shape() == b.shape() ? a.shape() : broadcast = broadcast_shapes(a.shape(), b.shape(), "add");
  return record<T>(
      "add", shape,
      [&](T* out) {
        detail::map_pair(
            shape, [](const auto& x, const auto& y) { return x + y; }, out, a, b);
      },
      wrt(a, pass_on), wrt(b, pass_on));
}

template <Scalar T>
Tensor<T> Add::operator()(const Tensor<T>& a, std::type_identity_t<compute_t<T>> b) const {
  return record<T>(
      "add", a.shape(),
      [&](T* out) {
        kernels::map(
            a.numel(), [b](const auto& x) { return x + b; }, out, a.data());
      },
      wrt(a, pass_on));
}

// value     x rounded to U, nearest even
// gradient  dy rounded to T
// saves     nothing
template <Element T>
template <Element U>
Tensor<U> Tensor<T>::to() const {
  if constexpr (std::same_as<T, U>) {
    return *this;
  } else {
    const auto convert = [this](U* out) { kernels::convert(numel(), out, data()); };
    if constexpr (Scalar<T> && Scalar<U>) {
      return record<U>("to", shape(), convert, wrt(*this, [](const Tensor<U>& dy) { return dy.template to<T>(); }));
    } else {
      return compute<U>("to", shape(), convert);
    }
  }
}

}  // namespace minitorch
