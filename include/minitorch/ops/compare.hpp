// Comparisons, element by element: tensors of bool. Nothing is differentiated.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/operators.hpp>

namespace minitorch {

namespace detail {

template <class F, Element T>
Tensor<bool> compare(const char* name, F f, const Tensor<T>& a, const Tensor<T>& b) {
  const Shape shape = common_shape(a.shape(), b.shape(), name);
  return compute<bool>(name, shape, [&](bool* out) { map_pair(shape, f, out, a, b); });
}
template <class F, Element T>
Tensor<bool> compare(const char* name, F f, const Tensor<T>& a, compute_t<T> b) {
  return compute<bool>(name, a.shape(), [&](bool* out) {
    kernels::map(
        a.numel(), [f, b](const auto& x) { return f(x, std::remove_cvref_t<decltype(x)>(b)); }, out, a.data());
  });
}

inline constexpr auto is_less = [](const auto& x, const auto& y) { return x < y; };
inline constexpr auto is_less_equal = [](const auto& x, const auto& y) { return x <= y; };
inline constexpr auto is_greater = [](const auto& x, const auto& y) { return x > y; };
inline constexpr auto is_greater_equal = [](const auto& x, const auto& y) { return x >= y; };
inline constexpr auto is_equal = [](const auto& x, const auto& y) { return x == y; };
inline constexpr auto is_not_equal = [](const auto& x, const auto& y) { return x != y; };

template <class T>
concept Ordered = Element<T> && !std::same_as<T, bool>;

}  // namespace detail

template <detail::Ordered T>
Tensor<bool> operator<(const Tensor<T>& a, const Tensor<T>& b) {
  return detail::compare("<", detail::is_less, a, b);
}
template <detail::Ordered T>
Tensor<bool> operator<=(const Tensor<T>& a, const Tensor<T>& b) {
  return detail::compare("<=", detail::is_less_equal, a, b);
}
template <detail::Ordered T>
Tensor<bool> operator>(const Tensor<T>& a, const Tensor<T>& b) {
  return detail::compare(">", detail::is_greater, a, b);
}
template <detail::Ordered T>
Tensor<bool> operator>=(const Tensor<T>& a, const Tensor<T>& b) {
  return detail::compare(">=", detail::is_greater_equal, a, b);
}
template <detail::Ordered T>
Tensor<bool> operator==(const Tensor<T>& a, const Tensor<T>& b) {
  return detail::compare("==", detail::is_equal, a, b);
}
template <detail::Ordered T>
Tensor<bool> operator!=(const Tensor<T>& a, const Tensor<T>& b) {
  return detail::compare("!=", detail::is_not_equal, a, b);
}

template <detail::Ordered T, Number N>
Tensor<bool> operator<(const Tensor<T>& a, N b) {
  return detail::compare("<", detail::is_less, a, static_cast<compute_t<T>>(b));
}
template <detail::Ordered T, Number N>
Tensor<bool> operator<=(const Tensor<T>& a, N b) {
  return detail::compare("<=", detail::is_less_equal, a, static_cast<compute_t<T>>(b));
}
template <detail::Ordered T, Number N>
Tensor<bool> operator>(const Tensor<T>& a, N b) {
  return detail::compare(">", detail::is_greater, a, static_cast<compute_t<T>>(b));
}
template <detail::Ordered T, Number N>
Tensor<bool> operator>=(const Tensor<T>& a, N b) {
  return detail::compare(">=", detail::is_greater_equal, a, static_cast<compute_t<T>>(b));
}
template <detail::Ordered T, Number N>
Tensor<bool> operator==(const Tensor<T>& a, N b) {
  return detail::compare("==", detail::is_equal, a, static_cast<compute_t<T>>(b));
}
template <detail::Ordered T, Number N>
Tensor<bool> operator!=(const Tensor<T>& a, N b) {
  return detail::compare("!=", detail::is_not_equal, a, static_cast<compute_t<T>>(b));
}

}  // namespace minitorch
