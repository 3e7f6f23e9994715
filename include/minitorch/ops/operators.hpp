// + - * / for tensors, numbers and placed values. Operands of different scalar types do not compile.
// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include <minitorch/ops/div.hpp>
#include <minitorch/ops/mul.hpp>
#include <minitorch/ops/sub.hpp>

namespace minitorch {

// A plain number beside a tensor; it is converted to the type that the tensor is computed in.
template <class N>
concept Number = (std::is_arithmetic_v<N> && !std::same_as<N, bool>) || is_narrow<N>;

namespace detail {
template <class T, class U>
concept DifferentScalars = Scalar<T> && Scalar<U> && !std::same_as<T, U>;
template <class>
inline constexpr bool operands_have_one_scalar_type = false;
}  // namespace detail

template <Scalar T>
Tensor<T> operator-(const Tensor<T>& x) {
  return neg(x);
}

template <Scalar T>
Tensor<T> operator+(const Tensor<T>& a, const Tensor<T>& b) {
  return add(a, b);
}
template <Scalar T>
Tensor<T> operator-(const Tensor<T>& a, const Tensor<T>& b) {
  return sub(a, b);
}
template <Scalar T>
Tensor<T> operator*(const Tensor<T>& a, const Tensor<T>& b) {
  return mul(a, b);
}
template <Scalar T>
Tensor<T> operator/(const Tensor<T>& a, const Tensor<T>& b) {
  return div(a, b);
}

template <Scalar T, Number N>
Tensor<T> operator+(const Tensor<T>& a, N b) {
  return add(a, static_cast<compute_t<T>>(b));
}
template <Scalar T, Number N>
Tensor<T> operator+(N a, const Tensor<T>& b) {
  return add(b, static_cast<compute_t<T>>(a));
}
template <Scalar T, Number N>
Tensor<T> operator-(const Tensor<T>& a, N b) {
  return sub(a, static_cast<compute_t<T>>(b));
}
template <Scalar T, Number N>
Tensor<T> operator-(N a, const Tensor<T>& b) {
  return sub(static_cast<compute_t<T>>(a), b);
}
template <Scalar T, Number N>
Tensor<T> operator*(const Tensor<T>& a, N b) {
  return mul(a, static_cast<compute_t<T>>(b));
}
template <Scalar T, Number N>
Tensor<T> operator*(N a, const Tensor<T>& b) {
  return mul(b, static_cast<compute_t<T>>(a));
}
template <Scalar T, Number N>
Tensor<T> operator/(const Tensor<T>& a, N b) {
  return div(a, static_cast<compute_t<T>>(b));
}
template <Scalar T, Number N>
Tensor<T> operator/(N a, const Tensor<T>& b) {
  return div(static_cast<compute_t<T>>(a), b);
}

// Values placed on ranks bring their own meaning.
template <class A, class B>
requires(PlacedValue<A> || PlacedValue<B>) auto operator+(const A& a, const B& b) { return add(a, b); }
template <class A, class B>
requires(PlacedValue<A> || PlacedValue<B>) auto operator-(const A& a, const B& b) { return sub(a, b); }
template <class A, class B>
requires(PlacedValue<A> || PlacedValue<B>) auto operator*(const A& a, const B& b) { return mul(a, b); }
template <class A, class B>
requires(PlacedValue<A> || PlacedValue<B>) auto operator/(const A& a, const B& b) { return div(a, b); }
template <PlacedValue A>
auto operator-(const A& a) {
  return neg(a);
}

// Which of two types a result should have is for the caller to say.
template <class T, class U>
requires detail::DifferentScalars<T, U>
void operator+(const Tensor<T>&, const Tensor<U>&) {
  static_assert(detail::operands_have_one_scalar_type<T>,
                "a + b: the tensors have different scalar types; convert one of them with .to<U>()");
}
template <class T, class U>
requires detail::DifferentScalars<T, U>
void operator-(const Tensor<T>&, const Tensor<U>&) {
  static_assert(detail::operands_have_one_scalar_type<T>,
                "a - b: the tensors have different scalar types; convert one of them with .to<U>()");
}
template <class T, class U>
requires detail::DifferentScalars<T, U>
void operator*(const Tensor<T>&, const Tensor<U>&) {
  static_assert(detail::operands_have_one_scalar_type<T>,
                "a * b: the tensors have different scalar types; convert one of them with .to<U>()");
}
template <class T, class U>
requires detail::DifferentScalars<T, U>
void operator/(const Tensor<T>&, const Tensor<U>&) {
  static_assert(detail::operands_have_one_scalar_type<T>,
                "a / b: the tensors have different scalar types; convert one of them with .to<U>()");
}

}  // namespace minitorch
