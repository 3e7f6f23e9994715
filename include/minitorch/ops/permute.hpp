// permute and transposed: dimensions in another order.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <span>
#include <utility>

#include <minitorch/autograd/record.hpp>
#include <minitorch/kernels/map_broadcast.hpp>

namespace minitorch {

struct Permute : Operation<Permute> {
  using Operation<Permute>::operator();
  template <Element T>
  Tensor<T> operator()(const Tensor<T>& x, std::span<const int> order) const;
  template <Element T>
  Tensor<T> operator()(const Tensor<T>& x, std::initializer_list<int> order) const;
};
// value     y with dimension d of y being dimension order[d] of x, copied
// gradient  dy in the opposite order
// saves     nothing
// Throws ArgumentError unless `order` names each dimension once.
inline constexpr Permute permute;

struct Transposed : Operation<Transposed> {
  using Operation<Transposed>::operator();
  template <Element T>
  Tensor<T> operator()(const Tensor<T>& x, int a = -2, int b = -1) const;
};
// x with dimensions a and b exchanged, copied. In a product use the flags of matmul instead.
inline constexpr Transposed transposed;

namespace detail {

struct Order {
  std::array<int, max_rank> from{};
  int rank = 0;

  Order(const Shape& shape, std::span<const int> order) : rank(shape.rank()) {
    unsigned seen = 0;
    for (std::size_t d = 0; d < order.size(); ++d) {
      const int source = shape.dim(order[d], "permute");
      if (d < from.size()) from[d] = source;
      seen |= 1U << source;
    }
    if (static_cast<int>(order.size()) != rank || seen + 1 != 1U << rank)
      fail<ArgumentError>("permute: an order of ", order.size(), " dimensions does not name each dimension of shape ", shape, " once");
  }
  std::span<const int> inverse(std::array<int, max_rank>& to) const {
    for (int d = 0; d < rank; ++d) to[static_cast<std::size_t>(from[static_cast<std::size_t>(d)])] = d;
    return {to.data(), static_cast<std::size_t>(rank)};
  }
};

}  // namespace detail

template <Element T>
Tensor<T> Permute::operator()(const Tensor<T>& x, std::span<const int> order) const {
  const detail::Order place(x.shape(), order);
  Shape shape;
  for (int d = 0; d < place.rank; ++d) shape.push_back(x.shape()[place.from[static_cast<std::size_t>(d)]]);
  const auto walk = [&](T* out) {
    kernels::Operand<T> operand{x.data(), {}};
    for (int d = 0; d < place.rank; ++d) {
      const int source = place.from[static_cast<std::size_t>(d)];
      operand.strides[static_cast<std::size_t>(d)] = x.shape().product(source + 1, place.rank);
    }
    kernels::map_broadcast(
        shape, [](const auto& v) { return v; }, out, operand);
  };
  if constexpr (Scalar<T>) {
    return record<T>("permute", shape, walk,
                     wrt(
                         x,
                         [](const Tensor<T>& dy, const detail::Order& forward) {
                           std::array<int, max_rank> back;
                           return permute(dy, forward.inverse(back));
                         },
                         place));
  } else {
    return compute<T>("permute", shape, walk);
  }
}

template <Element T>
Tensor<T> Permute::operator()(const Tensor<T>& x, std::initializer_list<int> order) const {
  return (*this)(x, std::span<const int>(order.begin(), order.size()));
}

template <Element T>
Tensor<T> Transposed::operator()(const Tensor<T>& x, int a, int b) const {
  std::array<int, max_rank> order{};
  for (int d = 0; d < x.rank(); ++d) order[static_cast<std::size_t>(d)] = d;
  std::swap(order[static_cast<std::size_t>(x.shape().dim(a, "transposed"))],
            order[static_cast<std::size_t>(x.shape().dim(b, "transposed"))]);
  return permute(x, std::span<const int>(order.data(), static_cast<std::size_t>(x.rank())));
}

}  // namespace minitorch
