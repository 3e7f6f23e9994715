// log, log1p and softplus. The method and the double coefficients are those of fdlibm's e_log.c.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/exp.hpp>

namespace minitorch::kernels {

namespace detail {

// x = 2^n m with m in [sqrt(1/2), sqrt(2)), for a normal x > 0.
template <class T, int W>
[[gnu::always_inline]] inline void split_exponent(const Pack<T, W>& x, Pack<T, W>& n, Pack<T, W>& m) {
  using Ints = Pack<bits_t<T>, W>;
  const Ints root = to_bits(Pack<T, W>(0.70710678118654752440)), one = to_bits(Pack<T, W>(1));
  const Ints bits = to_bits(x) + (one - root);
  n = to_real<T>(shift_down(bits, Real<T>::mantissa) - Ints(Real<T>::bias));
  m = from_bits<T>((bits & Ints((bits_t<T>{1} << Real<T>::mantissa) - 1)) + root);
}

// n ln(2) + ln(1 + f) + c.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> log_of_parts(const Pack<T, W>& n, const Pack<T, W>& f, const Pack<T, W>& c) {
  using P = Pack<T, W>;
  const P s = f / (P(2) + f), z = s * s, half_square = P(0.5) * f * f;
  P series;
  if constexpr (std::same_as<T, float>)
    series = polynomial(z, 0.24279078841, 0.28498786688, 0.40000972152, 0.66666662693);
  else
    series = polynomial(z, 1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
                        2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01);
  return fma(n, P(Real<T>::ln2_hi), f - (half_square - (s * fma(z, series, half_square) + fma(n, P(Real<T>::ln2_lo), c))));
}

// The result of log for an argument x that is not positive and finite.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> log_special(const Pack<T, W>& x, const Pack<T, W>& result) {
  using P = Pack<T, W>;
  const P infinity(std::numeric_limits<T>::infinity()), nan(std::numeric_limits<T>::quiet_NaN());
  return select((x > P(0)) & (x < infinity), result, select(x == P(0), -infinity, select(x < P(0), nan, x)));
}

}  // namespace detail

template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> log(const Pack<T, W>& x) {
  using P = Pack<T, W>;
  constexpr int mantissa = detail::Real<T>::mantissa;
  const auto subnormal = x < P((std::numeric_limits<T>::min)());
  P n, m;
  detail::split_exponent(select(subnormal, x * P(bits_t<T>{1} << mantissa), x), n, m);
  return detail::log_special(x, detail::log_of_parts(select(subnormal, n - P(mantissa), n), m - P(1), P()));
}

// log(1 + x), without cancellation near 0.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> log1p(const Pack<T, W>& x) {
  using P = Pack<T, W>;
  const P u = P(1) + x;
  P n, m;
  detail::split_exponent(u, n, m);
  const P lost = select(n > P(0), P(1) - (u - x), x - (u - P(1))) / u;  // what rounding 1 + x dropped
  const auto near = n == P(0);
  const P result = detail::log_of_parts(n, select(near, x, m - P(1)), select(near, P(), lost));
  return select(abs(x) < P(std::numeric_limits<T>::epsilon() / 4), x, detail::log_special(u, result));
}

// log(1 + e^x), accurate in both tails.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> softplus(const Pack<T, W>& x) {
  return maximum(x, Pack<T, W>(0)) + log1p(exp(-abs(x)));
}

}  // namespace minitorch::kernels
