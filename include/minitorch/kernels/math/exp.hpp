// exp, expm1 and the functions made of them: sigmoid, tanh.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/basic.hpp>

namespace minitorch::kernels {

namespace detail {

// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2, relative error 2^-52.6 (float: 2^-22.8) of a term of at most 0.06.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> exp_polynomial(const Pack<T, W>& r) {
  if constexpr (std::same_as<T, float>)
    return polynomial(r, 0.00139261836, 0.00836317905, 0.0416665546, 0.166665770, 0.5);
  else
    return polynomial(r, 2.5100385495510319e-8, 2.7620088445409748e-7, 2.7557268459997065e-6, 2.4801521295954375e-5, 1.9841269863053617e-4,
                      1.3888888917213717e-3, 8.3333333333300618e-3, 0.041666666666624128, 1.0 / 6, 0.5);
}

// x = n ln(2) + r with |r| <= ln(2) / 2. What is beyond overflow and underflow is clamped to just beyond; NaN stays.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> exp_reduce(const Pack<T, W>& x, Pack<T, W>& n) {
  using P = Pack<T, W>;
  const P in = clamp(x, Real<T>::exp_min, Real<T>::exp_max);
  n = fma(in, P(1.44269504088896340736), P(Real<T>::round_magic)) - P(Real<T>::round_magic);
  return fma(n, P(-Real<T>::ln2_lo), fma(n, P(-Real<T>::ln2_hi), in));
}

// e^r - 1 for such an r.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> exp_fraction(const Pack<T, W>& r) {
  return fma(r * r, exp_polynomial(r), r);
}

// 2^n e^r, the exponential of x.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> exp_finish(const Pack<T, W>& r, const Pack<T, W>& n, const Pack<T, W>& x) {
  Pack<T, W> out = exp_fraction(r) + Pack<T, W>(1);
  scale_or_zero(out, n, x, Pack<T, W>(Real<T>::exp_min));
  return out;
}

// e^(x + low), where low is much smaller than x.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> exp_sum(const Pack<T, W>& x, const Pack<T, W>& low) {
  Pack<T, W> n;
  const Pack<T, W> r = exp_reduce(x, n) + low;
  return exp_finish(r, n, x);
}

}  // namespace detail

template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> exp(const Pack<T, W>& x) {
  Pack<T, W> n;
  const Pack<T, W> r = detail::exp_reduce(x, n);
  return detail::exp_finish(r, n, x);
}

// e^x - 1, without cancellation near 0.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> expm1(const Pack<T, W>& x) {
  using P = Pack<T, W>;
  constexpr double lowest = std::same_as<T, float> ? -18 : -38;  // -1 from here on
  P n;
  const P fraction = detail::exp_fraction(detail::exp_reduce(detail::clamp(x, lowest, detail::Real<T>::exp_max), n));
  // 2^n (e^r - 1) + (2^n - 1); 2^-n is too small to count before it becomes subnormal
  const P magic(detail::Real<T>::round_magic), few = detail::clamp(n, -100, 100);
  return select(x == P(0), x, detail::scale(fraction + (P(1) - detail::power_of_two(magic - few)), n));
}

// 1 / (1 + e^-x), accurate in both tails.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> sigmoid(const Pack<T, W>& x) {
  const Pack<T, W> e = exp(-abs(x)), one(1);
  return select(x < Pack<T, W>(0), e, one) / (one + e);
}

template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> tanh(const Pack<T, W>& x) {
  using P = Pack<T, W>;
  const P size = abs(x), square = x * x;
  P small;  // (tanh(x) / x - 1) / x^2
  if constexpr (std::same_as<T, float>)
    small = detail::polynomial(square, 0.00226950168, -0.00832318706, 0.0217625029, -0.0539584616, 0.133333001, -0.333333331);
  else
    small = detail::polynomial(square, 6.3543408148597192e-6, -3.0929125473864670e-5, 9.2327497080853710e-5, -2.3746756598223251e-4,
                               5.8962214868720599e-4, -1.4557676940659455e-3, 3.5921207608708410e-3, -8.8632350243061060e-3,
                               0.021869488515352347, -0.053968253967810540, 0.13333333333332962, -1.0 / 3);
  const P large = P(1) - P(2) / (exp(size + size) + P(1));
  return copysign(select(size < P(0.625), fma(size * square, small, size), large), x);
}

}  // namespace minitorch::kernels
