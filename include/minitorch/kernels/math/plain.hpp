// The vector functions of one plain float or double, so that generic code may be given either.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/erf.hpp>
#include <minitorch/kernels/math/log.hpp>
#include <minitorch/kernels/math/pow.hpp>
#include <minitorch/kernels/math/trig.hpp>

namespace minitorch::kernels {

namespace detail {

// f of Packs that hold the numbers in every lane.
template <class F, class T, class... More>
T of_plain(F f, T x, More... more) {
  using P = Pack<T, 16 / int{sizeof(T)}>;
  return f(P(x), P(more)...)[0];
}

}  // namespace detail

template <std::floating_point T>
T abs(T x) {
  return x < 0 ? -x : x + T(0);
}
template <std::floating_point T>
T sqrt(T x) {
  return std::sqrt(x);
}
template <std::floating_point T>
T select(bool first, T a, T b) {
  return first ? a : b;
}
template <std::floating_point T>
T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}
template <std::floating_point T>
T minimum(T a, T b) {
  return a < b || a != a ? a : b;
}
template <std::floating_point T>
T exp(T x) {
  return detail::of_plain([](const auto& a) { return exp(a); }, x);
}
template <std::floating_point T>
T expm1(T x) {
  return detail::of_plain([](const auto& a) { return expm1(a); }, x);
}
template <std::floating_point T>
T log(T x) {
  return detail::of_plain([](const auto& a) { return log(a); }, x);
}
template <std::floating_point T>
T log1p(T x) {
  return detail::of_plain([](const auto& a) { return log1p(a); }, x);
}
template <std::floating_point T>
T sigmoid(T x) {
  return detail::of_plain([](const auto& a) { return sigmoid(a); }, x);
}
template <std::floating_point T>
T softplus(T x) {
  return detail::of_plain([](const auto& a) { return softplus(a); }, x);
}
template <std::floating_point T>
T tanh(T x) {
  return detail::of_plain([](const auto& a) { return tanh(a); }, x);
}
template <std::floating_point T>
T erf(T x) {
  return detail::of_plain([](const auto& a) { return erf(a); }, x);
}
template <std::floating_point T>
T erfc(T x) {
  return detail::of_plain([](const auto& a) { return erfc(a); }, x);
}
template <std::floating_point T>
T normal_cdf(T x) {
  return detail::of_plain([](const auto& a) { return normal_cdf(a); }, x);
}
template <std::floating_point T>
T normal_pdf(T x) {
  return detail::of_plain([](const auto& a) { return normal_pdf(a); }, x);
}
template <std::floating_point T>
T sin(T x) {
  return detail::of_plain([](const auto& a) { return sin(a); }, x);
}
template <std::floating_point T>
T cos(T x) {
  return detail::of_plain([](const auto& a) { return cos(a); }, x);
}
template <std::floating_point T>
T pow(T x, T y) {
  return detail::of_plain([](const auto& a, const auto& b) { return pow(a, b); }, x, y);
}

}  // namespace minitorch::kernels
