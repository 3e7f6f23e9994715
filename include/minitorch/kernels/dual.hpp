// Dual<V, N>: a value and its derivatives by N variables. One generic function, evaluated on Duals of Packs, gives both.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math.hpp>

namespace minitorch::kernels {

// V is a Pack, or a Dual again for second derivatives. Comparisons compare values; select picks value and derivatives.
template <class V, int N>
class Dual {
 public:
  using Scalar = typename V::Scalar;
  using MaskType = typename V::MaskType;
  static constexpr int width = V::width;

  V value;
  V slope[static_cast<std::size_t>(N)];

  [[gnu::always_inline]] Dual() {}
  template <class S>
  requires std::is_arithmetic_v<S>
  [[gnu::always_inline]] Dual(S number) : value(number) {}
  [[gnu::always_inline]] explicit Dual(const V& constant) : value(constant) {}
  // The variable number `index`: its derivative by itself is 1.
  [[gnu::always_inline]] Dual(const V& x, int index) : value(x) { slope[index] = V(1); }

  [[gnu::always_inline]] Dual& operator+=(const Dual& b) { return *this = *this + b; }
  [[gnu::always_inline]] Dual& operator-=(const Dual& b) { return *this = *this - b; }
  [[gnu::always_inline]] Dual& operator*=(const Dual& b) { return *this = *this * b; }
  [[gnu::always_inline]] Dual& operator/=(const Dual& b) { return *this = *this / b; }

  [[gnu::always_inline]] friend Dual operator+(const Dual& a, const Dual& b) {
    Dual out(a.value + b.value);
    for (int i = 0; i < N; ++i) out.slope[i] = a.slope[i] + b.slope[i];
    return out;
  }
  [[gnu::always_inline]] friend Dual operator-(const Dual& a, const Dual& b) {
    Dual out(a.value - b.value);
    for (int i = 0; i < N; ++i) out.slope[i] = a.slope[i] - b.slope[i];
    return out;
  }
  [[gnu::always_inline]] friend Dual operator*(const Dual& a, const Dual& b) {
    Dual out(a.value * b.value);
    for (int i = 0; i < N; ++i) out.slope[i] = a.slope[i] * b.value + a.value * b.slope[i];
    return out;
  }
  [[gnu::always_inline]] friend Dual operator/(const Dual& a, const Dual& b) {
    Dual out(a.value / b.value);
    for (int i = 0; i < N; ++i) out.slope[i] = (a.slope[i] - out.value * b.slope[i]) / b.value;
    return out;
  }
  [[gnu::always_inline]] friend Dual operator-(const Dual& a) {
    Dual out(-a.value);
    for (int i = 0; i < N; ++i) out.slope[i] = -a.slope[i];
    return out;
  }
  [[gnu::always_inline]] friend Dual operator+(const Dual& a) { return a; }

  [[gnu::always_inline]] friend MaskType operator<(const Dual& a, const Dual& b) { return a.value < b.value; }
  [[gnu::always_inline]] friend MaskType operator<=(const Dual& a, const Dual& b) { return a.value <= b.value; }
  [[gnu::always_inline]] friend MaskType operator>(const Dual& a, const Dual& b) { return a.value > b.value; }
  [[gnu::always_inline]] friend MaskType operator>=(const Dual& a, const Dual& b) { return a.value >= b.value; }
  [[gnu::always_inline]] friend MaskType operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  [[gnu::always_inline]] friend MaskType operator!=(const Dual& a, const Dual& b) { return a.value != b.value; }

  [[gnu::always_inline]] friend Dual select(const MaskType& m, const Dual& a, const Dual& b) {
    Dual out(select(m, a.value, b.value));
    for (int i = 0; i < N; ++i) out.slope[i] = select(m, a.slope[i], b.slope[i]);
    return out;
  }
  [[gnu::always_inline]] friend Dual fma(const Dual& a, const Dual& b, const Dual& c) { return a * b + c; }
  // Where a and b tie, each takes half of the derivative.
  [[gnu::always_inline]] friend Dual maximum(const Dual& a, const Dual& b) {
    return select(a == b, Dual(0.5) * (a + b), select((a > b) | (a != a), a, b));
  }
  [[gnu::always_inline]] friend Dual minimum(const Dual& a, const Dual& b) {
    return select(a == b, Dual(0.5) * (a + b), select((a < b) | (a != a), a, b));
  }
};

namespace detail {

// f(a) from its value and its derivative at a.value.
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> chain(const Dual<V, N>& a, const V& value, const V& derivative) {
  Dual<V, N> out(value);
  for (int i = 0; i < N; ++i) out.slope[i] = a.slope[i] * derivative;
  return out;
}

}  // namespace detail

template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> abs(const Dual<V, N>& a) {
  return detail::chain(a, abs(a.value), select(a.value < V(0), V(-1), select(a.value > V(0), V(1), a.value)));
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> round(const Dual<V, N>& a) {
  return Dual<V, N>(round(a.value));
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> floor(const Dual<V, N>& a) {
  return Dual<V, N>(floor(a.value));
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> sqrt(const Dual<V, N>& a) {
  const V root = sqrt(a.value);
  return detail::chain(a, root, V(0.5) / root);
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> rsqrt(const Dual<V, N>& a) {
  const V root = rsqrt(a.value);
  return detail::chain(a, root, V(-0.5) * root / a.value);
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> exp(const Dual<V, N>& a) {
  const V e = exp(a.value);
  return detail::chain(a, e, e);
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> expm1(const Dual<V, N>& a) {
  const V e = expm1(a.value);
  return detail::chain(a, e, e + V(1));
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> log(const Dual<V, N>& a) {
  return detail::chain(a, log(a.value), V(1) / a.value);
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> log1p(const Dual<V, N>& a) {
  return detail::chain(a, log1p(a.value), V(1) / (V(1) + a.value));
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> tanh(const Dual<V, N>& a) {
  const V t = tanh(a.value);
  return detail::chain(a, t, (V(1) - t) * (V(1) + t));
}
// The derivative is e / (1 + e)^2 with e = e^-|x|: accurate in both tails.
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> sigmoid(const Dual<V, N>& a) {
  const V e = exp(-abs(a.value)), inverse = V(1) / (V(1) + e);
  return detail::chain(a, select(a.value < V(0), e, V(1)) * inverse, e * inverse * inverse);
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> softplus(const Dual<V, N>& a) {
  return detail::chain(a, softplus(a.value), sigmoid(a.value));
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> normal_pdf(const Dual<V, N>& a) {
  const V density = normal_pdf(a.value);
  return detail::chain(a, density, -(a.value * density));
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> normal_cdf(const Dual<V, N>& a) {
  return detail::chain(a, normal_cdf(a.value), normal_pdf(a.value));
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> erf(const Dual<V, N>& a) {
  return detail::chain(a, erf(a.value), V(1.1283791670955126) * exp(-(a.value * a.value)));
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> erfc(const Dual<V, N>& a) {
  return detail::chain(a, erfc(a.value), V(-1.1283791670955126) * exp(-(a.value * a.value)));
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> sin(const Dual<V, N>& a) {
  return detail::chain(a, sin(a.value), cos(a.value));
}
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> cos(const Dual<V, N>& a) {
  return detail::chain(a, cos(a.value), -sin(a.value));
}
template <class V, int N, class S>
requires std::is_arithmetic_v<S>
[[gnu::always_inline]] inline Dual<V, N> pow(const Dual<V, N>& a, S exponent) {
  const double y = static_cast<double>(exponent);
  return detail::chain(a, pow(a.value, y), V(y) * pow(a.value, y - 1));
}
// Where the power is 0 its derivative by the exponent is 0, whatever the logarithm says.
template <class V, int N>
[[gnu::always_inline]] inline Dual<V, N> pow(const Dual<V, N>& a, const Dual<V, N>& b) {
  const V power = pow(a.value, b.value), by_base = b.value * pow(a.value, b.value - V(1));
  const V by_exponent = select(power == V(0), V(0), power * log(a.value));
  Dual<V, N> out(power);
  for (int i = 0; i < N; ++i) out.slope[i] = a.slope[i] * by_base + b.slope[i] * by_exponent;
  return out;
}

}  // namespace minitorch::kernels
