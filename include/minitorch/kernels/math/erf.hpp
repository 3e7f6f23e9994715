// erf, erfc and the normal distribution with tails that keep their relative accuracy.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/exp.hpp>

namespace minitorch::kernels {

namespace detail {

// erf(z) / z - 1 for |z| <= 1/2, as a function of z^2.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> erf_polynomial(const Pack<T, W>& square) {
  if constexpr (std::same_as<T, float>)
    return polynomial(square, 0.00471889189, -0.0267576492, 0.112828303, -0.376126090, 0.12837916709551257);
  else
    return polynomial(square, 1.4725211252266739e-6, -1.4845787890421724e-5, 1.2053332795966865e-4, -8.5482977079068973e-4,
                      5.2239773725259962e-3, -0.026866170632859001, 0.11283791670925271, -0.37612638903183473, 0.12837916709551257);
}

// e^(z^2) erfc(z) for z >= 1/2: a polynomial in (z - k) / (z + k), over 1 + 2 z.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> scaled_erfc(const Pack<T, W>& z) {
  using P = Pack<T, W>;
  if constexpr (std::same_as<T, float>) {  // one division serves both quotients
    const P bottom = fma(P(2), z, P(1)), inverse = P(1) / ((z + P(2)) * bottom), q = (z - P(2)) * (bottom * inverse);
    return polynomial(q, -0.000247388869, -0.00125813962, 0.00116552958, 0.00865386987, -0.0080112607, -0.0542100892, 0.164049355,
                      -0.166030906, -0.0927637825, 1.27697839) *
           ((z + P(2)) * inverse);
  } else {
    const P q = (z - P(3)) / (z + P(3));
    return polynomial(q, 9.4818822617210644e-9, 7.0778519971788167e-8, -8.6497136269891542e-8, -5.8295923679849947e-7,
                      3.0561853978656551e-7, 3.4513953767731811e-6, -7.0285819602278171e-7, -2.0092367167693767e-5, 4.939419646682426e-6,
                      0.00012509729178754767, -0.00010515756468460331, -0.0007798319402302176, 0.0018886900530001061, 0.0025293917830904248,
                      -0.02377051489433958, 0.06830802734583274, -0.11927366341629384, 0.12964515870271129, -0.047562294353435236,
                      -0.13562110612458077, 1.2530080582697296) /
           fma(P(2), z, P(1));
  }
}

// e^(-x^2 f) for f = 1 or 1/2. The square is split exactly, so that its rounding does not become an error of the result.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> exp_minus_square(const Pack<T, W>& x, double factor) {
  using P = Pack<T, W>;
  constexpr int dropped = Real<T>::mantissa / 2 + 1;
  const P size = minimum(abs(x), P(std::same_as<T, float> ? 16 : 40)),
          high = from_bits<T>(to_bits(size) & Pack<bits_t<T>, W>(-(bits_t<T>{1} << dropped)));
  return exp_sum(P(-factor) * (high * high), P(-factor) * ((size - high) * (size + high)));
}

}  // namespace detail

template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> erf(const Pack<T, W>& x) {
  using P = Pack<T, W>;
  const P size = abs(x), small = fma(x, detail::erf_polynomial(x * x), x);
  const P far = minimum(size, P(8)), tail = detail::exp_minus_square(far, 1) * detail::scaled_erfc(far);
  return select(size < P(0.5), small, copysign(P(1) - tail, x));
}

// 1 - erf(x), without cancellation for large x.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> erfc(const Pack<T, W>& x) {
  using P = Pack<T, W>;
  const P size = abs(x), small = P(1) - fma(x, detail::erf_polynomial(x * x), x);
  const P far = minimum(size, P(std::same_as<T, float> ? 16 : 40)), tail = detail::exp_minus_square(far, 1) * detail::scaled_erfc(far);
  return select(size < P(0.5), small, select(x < P(0), P(2) - tail, tail));
}

namespace detail {

// The standard normal distribution function, given e^(-x^2 / 2).
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> normal_cdf_of(const Pack<T, W>& x, const Pack<T, W>& bell) {
  using P = Pack<T, W>;
  const P z = x * P(0.70710678118654752440), size = abs(z), small = fma(P(0.5), fma(z, erf_polynomial(z * z), z), P(0.5));
  const P far = minimum(size, P(std::same_as<T, float> ? 16 : 40)), tail = P(0.5) * (bell * scaled_erfc(far));
  return select(size < P(0.5), small, select(x < P(0), tail, P(1) - tail));
}

}  // namespace detail

// The standard normal distribution function, (1 + erf(x / sqrt(2))) / 2, accurate in the left tail.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> normal_cdf(const Pack<T, W>& x) {
  return detail::normal_cdf_of(x, detail::exp_minus_square(x, 0.5));
}

// Its density, e^(-x^2 / 2) / sqrt(2 pi).
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> normal_pdf(const Pack<T, W>& x) {
  return Pack<T, W>(0.39894228040143267794) * detail::exp_minus_square(x, 0.5);
}

}  // namespace minitorch::kernels
