// sin and cos. Coefficients and the three-part reduction of the double versions are those of fdlibm.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include <minitorch/kernels/math/basic.hpp>

namespace minitorch::kernels {

namespace detail {

// Above this the reduction below loses digits, and lanes go one by one to the C library.
inline constexpr double trig_limit = 5e5;

// x = n pi/2 + r + tail, for |x| < trig_limit. n is given as n + round_magic.
template <int W>
[[gnu::always_inline]] inline void reduce_angle(const Pack<double, W>& x, Pack<double, W>& n_plus_magic, Pack<double, W>& r,
                                                Pack<double, W>& tail) {
  using P = Pack<double, W>;
  const P magic(Real<double>::round_magic);
  n_plus_magic = fma(x, P(0.63661977236758134308), magic);
  const P n = n_plus_magic - magic;
  // n times the first two parts is exact: they have 33 bits
  const P first = x - n * P(1.57079632673412561417), part = n * P(6.07710050630396597660e-11), second = first - part;
  const P rest = n * P(2.02226624879595063154e-21) - ((first - second) - part);
  r = second - rest;
  tail = (second - r) - rest;
}

template <int W>
[[gnu::always_inline]] inline void sin_cos_polynomials(const Pack<double, W>& r, const Pack<double, W>& tail, Pack<double, W>& sine,
                                                       Pack<double, W>& cosine) {
  using P = Pack<double, W>;
  const P z = r * r, cube = z * r;
  const P s = polynomial(z, 1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
                         -1.98412698298579493134e-04, 8.33333333332248946124e-03);
  sine = r - ((z * (P(0.5) * tail - cube * s) - tail) + cube * P(1.66666666666666324348e-01));
  const P c = z * polynomial(z, -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
                             2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02);
  const P half = P(0.5) * z, w = P(1) - half;
  cosine = w + (((P(1) - w) - half) + (z * c - r * tail));
}

template <int W>
[[gnu::always_inline]] inline void sin_cos_polynomials(const Pack<float, W>& r, Pack<float, W>& sine, Pack<float, W>& cosine) {
  using P = Pack<float, W>;
  const P z = r * r;
  sine = fma(r * z, polynomial(z, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1), r);
  cosine = fma(z * z, polynomial(z, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2), fma(z, P(-0.5), P(1)));
}

template <class T, int W>
[[gnu::cold, gnu::noinline]] void sin_cos_by_lane(const Pack<T, W>& x, Pack<T, W>& sine, Pack<T, W>& cosine) {
  for (int i = 0; i < W; ++i)
    if (!(std::abs(x[i]) < static_cast<T>(trig_limit))) {
      sine.set(i, std::sin(x[i]));
      cosine.set(i, std::cos(x[i]));
    }
}

// quarter: the lowest bit swaps sine and cosine, the next one is the sign.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> pick_quarter(const Pack<bits_t<T>, W>& quarter, const Pack<T, W>& sine, const Pack<T, W>& cosine) {
  using Ints = Pack<bits_t<T>, W>;
  const Pack<T, W> size = select((quarter & Ints(1)) == Ints(0), sine, cosine);
  return from_bits<T>(to_bits(size) ^ ((quarter & Ints(2)) << int{8 * sizeof(T) - 2}));
}

template <class T, int W>
[[gnu::always_inline]] inline void sin_cos(const Pack<T, W>& x, Pack<T, W>& sine_out, Pack<T, W>& cosine_out) {
  Pack<bits_t<T>, W> quarter;
  Pack<T, W> sine, cosine;
  if constexpr (std::same_as<T, double>) {
    Pack<T, W> n, r, tail;
    reduce_angle(x, n, r, tail);
    quarter = to_bits(n);
    sin_cos_polynomials(r, tail, sine, cosine);
  } else {  // the reduction in double, half of the lanes at a time
    Pack<double, W / 2> n_low, n_high, r_low, r_high, tail;
    reduce_angle(convert<double>(low_half(x)), n_low, r_low, tail);
    reduce_angle(convert<double>(high_half(x)), n_high, r_high, tail);
    quarter = join_halves(convert<std::int32_t>(to_bits(n_low)), convert<std::int32_t>(to_bits(n_high)));
    const Pack<float, W> r = join_halves(convert<float>(r_low), convert<float>(r_high));
    sin_cos_polynomials(r, sine, cosine);
  }
  sine_out = select(x == Pack<T, W>(0), x, pick_quarter<T>(quarter, sine, cosine));
  cosine_out = pick_quarter<T>(quarter + Pack<bits_t<T>, W>(1), sine, cosine);
  if (any(~(abs(x) < Pack<T, W>(trig_limit)))) [[unlikely]]
    sin_cos_by_lane(x, sine_out, cosine_out);
}

}  // namespace detail

template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> sin(const Pack<T, W>& x) {
  Pack<T, W> sine, cosine;
  detail::sin_cos(x, sine, cosine);
  return sine;
}
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> cos(const Pack<T, W>& x) {
  Pack<T, W> sine, cosine;
  detail::sin_cos(x, sine, cosine);
  return cosine;
}

}  // namespace minitorch::kernels
