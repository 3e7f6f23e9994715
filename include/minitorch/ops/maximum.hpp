// maximum and minimum of two tensors, element by element.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/basic.hpp>
#include <minitorch/ops/pointwise.hpp>

namespace minitorch {

struct Maximum : Operation<Maximum> {
  using Operation<Maximum>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& a, const Tensor<T>& b) const;
};
// value     the larger of a and b, broadcast; NaN when one of them is NaN
// gradient  dy for the larger one, half of it for each when they tie
// saves     a, b
inline constexpr Maximum maximum;

struct Minimum : Operation<Minimum> {
  using Operation<Minimum>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& a, const Tensor<T>& b) const;
};
// The smaller of a and b, as maximum.
inline constexpr Minimum minimum;

struct Fmax : Operation<Fmax> {
  using Operation<Fmax>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& a, const Tensor<T>& b) const;
};
// The larger of a and b, and the other one where one of them is NaN; otherwise as maximum.
inline constexpr Fmax fmax;

namespace detail {

// The share of dy that the first of two operands receives: all where it was chosen, half where they tie.
struct LargerFirst {
  template <class P>
  [[gnu::always_inline]] static P share(const P& g, const P& a, const P& b) {
    return select(a > b, g, select(a == b, g * P(0.5), select((a != a) & (b == b), g, P(0))));
  }
};
struct SmallerFirst {
  template <class P>
  [[gnu::always_inline]] static P share(const P& g, const P& a, const P& b) {
    return select(a < b, g, select(a == b, g * P(0.5), select((a != a) & (b == b), g, P(0))));
  }
};
struct LargerNumber {
  template <class P>
  [[gnu::always_inline]] static P share(const P& g, const P& a, const P& b) {
    return select(a > b, g, select(a == b, g * P(0.5), select((b != b) & (a == a), g, P(0))));
  }
};

// Linear in dy, piecewise constant in a and b.
template <class Choice, Scalar T>
Tensor<T> chosen_share(const Tensor<T>& dy, const Tensor<T>& a, const Tensor<T>& b) {
  return record<T>(
      "choice gradient", dy.shape(),
      [&](T* out) {
        kernels::map_broadcast(
            dy.shape(), [](const auto& g, const auto& x, const auto& y) { return Choice::share(g, x, y); }, out,
            kernels::broadcast_operand(dy.data(), dy.shape()), kernels::broadcast_operand(a.data(), a.shape()),
            kernels::broadcast_operand(b.data(), b.shape()));
      },
      wrt(
          dy, [](const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) { return chosen_share<Choice>(g, x, y); }, a, b));
}

template <class Choice, Scalar T, class F>
Tensor<T> choose(const char* name, F f, const Tensor<T>& a, const Tensor<T>& b) {
  constexpr auto rule = [](const Tensor<T>& dy, const Tensor<T>& own, const Tensor<T>& other) {
    return chosen_share<Choice>(dy, own, other);
  };
  const Shape shape = common_shape(a.shape(), b.shape(), name);
  return record<T>(
      name, shape, [&](T* out) { map_pair(shape, f, out, a, b); }, wrt(a, rule, a, b), wrt(b, rule, b, a));
}

}  // namespace detail

template <Scalar T>
Tensor<T> Maximum::operator()(const Tensor<T>& a, const Tensor<T>& b) const {
  return detail::choose<detail::LargerFirst>(
      "maximum", [](const auto& x, const auto& y) __attribute__((always_inline)) { return kernels::maximum(x, y); }, a, b);
}

template <Scalar T>
Tensor<T> Minimum::operator()(const Tensor<T>& a, const Tensor<T>& b) const {
  return detail::choose<detail::SmallerFirst>(
      "minimum", [](const auto& x, const auto& y) __attribute__((always_inline)) { return kernels::minimum(x, y); }, a, b);
}

template <Scalar T>
Tensor<T> Fmax::operator()(const Tensor<T>& a, const Tensor<T>& b) const {
  return detail::choose<detail::LargerNumber>(
      "fmax", [](const auto& x, const auto& y) { return select((x > y) | (y != y), x, y); }, a, b);
}

}  // namespace minitorch
