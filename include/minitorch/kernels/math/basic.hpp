// What the vector functions are built from: signs, rounding, powers of two, square roots, polynomials.
// SPDX-License-Identifier: MIT
#pragma once

#include <limits>

#include <minitorch/kernels/pack.hpp>

namespace minitorch::kernels {

template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> abs(const Pack<T, W>& a) {
  return from_bits<T>(to_bits(a) & Pack<bits_t<T>, W>((std::numeric_limits<bits_t<T>>::max)()));
}

// The magnitude of a with the sign of b.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> copysign(const Pack<T, W>& a, const Pack<T, W>& b) {
  const Pack<bits_t<T>, W> sign((std::numeric_limits<bits_t<T>>::min)());
  return from_bits<T>((to_bits(a) & ~sign) | (to_bits(b) & sign));
}

namespace detail {

// The constants of a floating-point type that its functions are written with.
template <class T>
struct Real;
template <>
struct Real<float> {
  static constexpr int mantissa = 23, bias = 127;
  static constexpr double round_magic = 0x1.8p23;  // adding it leaves the integer in the low bits
  static constexpr double ln2_hi = 0.693359375, ln2_lo = -2.12194440e-4;
  static constexpr double exp_max = 89, exp_min = -104;
};
template <>
struct Real<double> {
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double round_magic = 0x1.8p52;
  static constexpr double ln2_hi = 6.93147180369123816490e-01, ln2_lo = 1.90821492927058770002e-10;
  static constexpr double exp_max = 710, exp_min = -746;
};

// first * x^n + ... + last.
template <class T, int W, class... C>
[[gnu::always_inline]] inline Pack<T, W> polynomial(const Pack<T, W>& x, double first, C... rest) {
  Pack<T, W> sum(first);
  ((sum = fma(sum, x, Pack<T, W>(rest))), ...);
  return sum;
}

// 2^n for the n that stands in the low bits of n + round_magic; -bias < n <= bias.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> power_of_two(const Pack<T, W>& n_plus_magic) {
  using Ints = Pack<bits_t<T>, W>;
  return from_bits<T>((to_bits(n_plus_magic) << Real<T>::mantissa) + Ints(bits_t<T>{Real<T>::bias} << Real<T>::mantissa));
}

// a * 2^n with one rounding, for integral n down to twice the smallest exponent.
template <class T, int W>
[[gnu::always_inline]] inline void scale_into(Pack<T, W>& a, const Pack<T, W>& n) {
  const Pack<T, W> magic(Real<T>::round_magic), half = fma(n, Pack<T, W>(0.5), magic);
  a = a * power_of_two(half) * power_of_two((n - (half - magic)) + magic);
}

// a * 2^n, and 0 where x < least: without computing what vanishes, which processors do slowly.
template <class T, int W>
[[gnu::always_inline]] inline void scale_or_zero(Pack<T, W>& a, const Pack<T, W>& n, const Pack<T, W>& x, const Pack<T, W>& least) {
  const auto vanishes = x < least;
  scale_into(a, select(vanishes, Pack<T, W>(0), n));
  a = select(vanishes, Pack<T, W>(0), a);
}

// x between two bounds; NaN stays.
template <class T, int W>
[[gnu::always_inline]] inline void clamp_into(Pack<T, W>& x, const Pack<T, W>& low, const Pack<T, W>& high) {
  x = select(x > high, high, x);
  x = select(x < low, low, x);
}

template <class T, int W>
[[gnu::always_inline]] inline void maximum_into(Pack<T, W>& out, const Pack<T, W>& a, const Pack<T, W>& b) {
  out = select((a > b) | (a != a), a, b);
}

#if defined(__x86_64__)
// One instruction each. The second operand of a minimum is the result when there is a NaN.
template <class T, int W>
requires(W * sizeof(T) == 64)
    [[gnu::target("avx512f")]] inline void scale_or_zero(Pack<T, W>& a, const Pack<T, W>& n, const Pack<T, W>& x, const Pack<T, W>& least) {
  std::conditional_t<W == 16, std::uint16_t, std::uint8_t> lanes;  // where x is not less, NaN included
  if constexpr (std::same_as<T, float>)
    asm("vcmpnltps %4, %3, %1\n\tvscalefps %2, %0, %0%{%1%}%{z%}" : "+v"(a.v), "=&Yk"(lanes) : "v"(n.v), "v"(x.v), "v"(least.v));
  else
    asm("vcmpnltpd %4, %3, %1\n\tvscalefpd %2, %0, %0%{%1%}%{z%}" : "+v"(a.v), "=&Yk"(lanes) : "v"(n.v), "v"(x.v), "v"(least.v));
}
template <class T, int W>
requires(W * sizeof(T) == 64) [[gnu::target("avx512f")]] inline void scale_into(Pack<T, W>& a, const Pack<T, W>& n) {
  if constexpr (std::same_as<T, float>)
    asm("vscalefps %1, %0, %0" : "+v"(a.v) : "v"(n.v));
  else
    asm("vscalefpd %1, %0, %0" : "+v"(a.v) : "v"(n.v));
}
template <class T, int W>
requires(W * sizeof(T) == 64)
    [[gnu::target("avx512f")]] inline void clamp_into(Pack<T, W>& x, const Pack<T, W>& low, const Pack<T, W>& high) {
  if constexpr (std::same_as<T, float>)
    asm("vminps %0, %1, %0\n\tvmaxps %0, %2, %0" : "+v"(x.v) : "v"(high.v), "v"(low.v));
  else
    asm("vminpd %0, %1, %0\n\tvmaxpd %0, %2, %0" : "+v"(x.v) : "v"(high.v), "v"(low.v));
}
template <class T, int W>
requires(W * sizeof(T) == 64 && std::floating_point<T>)
    [[gnu::target("avx512f")]] inline void maximum_into(Pack<T, W>& out, const Pack<T, W>& a, const Pack<T, W>& b) {
  std::conditional_t<W == 16, std::uint16_t, std::uint8_t> nan;
  if constexpr (std::same_as<T, float>)
    asm("vcmpunordps %2, %2, %0\n\tvmaxps %3, %2, %1\n\tvmovaps %2, %1%{%0%}" : "=&Yk"(nan), "=&v"(out.v) : "v"(a.v), "v"(b.v));
  else
    asm("vcmpunordpd %2, %2, %0\n\tvmaxpd %3, %2, %1\n\tvmovapd %2, %1%{%0%}" : "=&Yk"(nan), "=&v"(out.v) : "v"(a.v), "v"(b.v));
}
#endif

template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> scale(const Pack<T, W>& a, const Pack<T, W>& n) {
  Pack<T, W> out(a);
  scale_into(out, n);
  return out;
}
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> clamp(const Pack<T, W>& x, double low, double high) {
  Pack<T, W> out(x);
  clamp_into(out, Pack<T, W>(low), Pack<T, W>(high));
  return out;
}

// Small integers as numbers; 64-bit ones without the instruction that only AVX-512 has.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> to_real(const Pack<bits_t<T>, W>& n) {
  if constexpr (std::same_as<T, float>)
    return convert<float>(n);
  else
    return from_bits<T>(n + to_bits(Pack<T, W>(Real<T>::round_magic))) - Pack<T, W>(Real<T>::round_magic);
}

template <class T, int W>
[[gnu::always_inline]] inline void square_root(Pack<T, W>& out, const Pack<T, W>& a) {
  for (int i = 0; i < W; ++i)
    if constexpr (std::same_as<T, float>)
      out.v[i] = __builtin_sqrtf(a.v[i]);
    else
      out.v[i] = __builtin_sqrt(a.v[i]);
}
#if defined(__x86_64__)
[[gnu::target("avx512f")]] inline void square_root(Pack<float, 16>& out, const Pack<float, 16>& a) {
  asm("vsqrtps %1, %0" : "=v"(out.v) : "v"(a.v));
}
[[gnu::target("avx512f")]] inline void square_root(Pack<double, 8>& out, const Pack<double, 8>& a) {
  asm("vsqrtpd %1, %0" : "=v"(out.v) : "v"(a.v));
}
[[gnu::target("avx2")]] inline void square_root(Pack<float, 8>& out, const Pack<float, 8>& a) {
  asm("vsqrtps %1, %0" : "=x"(out.v) : "x"(a.v));
}
[[gnu::target("avx2")]] inline void square_root(Pack<double, 4>& out, const Pack<double, 4>& a) {
  asm("vsqrtpd %1, %0" : "=x"(out.v) : "x"(a.v));
}
inline void square_root(Pack<float, 4>& out, const Pack<float, 4>& a) { asm("sqrtps %1, %0" : "=x"(out.v) : "x"(a.v)); }
inline void square_root(Pack<double, 2>& out, const Pack<double, 2>& a) { asm("sqrtpd %1, %0" : "=x"(out.v) : "x"(a.v)); }
#endif

}  // namespace detail

// The larger and the smaller one; NaN when either is NaN.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> maximum(const Pack<T, W>& a, const Pack<T, W>& b) {
  Pack<T, W> out;
  detail::maximum_into(out, a, b);
  return out;
}
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> minimum(const Pack<T, W>& a, const Pack<T, W>& b) {
  return -maximum(-a, -b);
}

// Correctly rounded.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> sqrt(const Pack<T, W>& a) {
  Pack<T, W> out;
  detail::square_root(out, a);
  return out;
}

template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> rsqrt(const Pack<T, W>& a) {
  return Pack<T, W>(1) / sqrt(a);
}

// The nearest integer, halfway cases to the even one; -0 stays -0.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> round(const Pack<T, W>& a) {
  const Pack<T, W> magic(detail::Real<T>::round_magic / 1.5), size = abs(a);
  return select(size < magic, copysign((size + magic) - magic, a), a);
}

// The largest integer that is not above a.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> floor(const Pack<T, W>& a) {
  const Pack<T, W> near = round(a);
  return select(near > a, near - Pack<T, W>(1), near);
}

}  // namespace minitorch::kernels
