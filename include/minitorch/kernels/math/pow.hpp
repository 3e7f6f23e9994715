// pow: float through double, double with the two-part logarithm of fdlibm's e_pow.c.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/log.hpp>

namespace minitorch::kernels {

namespace detail {

// The upper half of the mantissa: products of two such numbers are exact.
template <int W>
[[gnu::always_inline]] inline Pack<double, W> upper(const Pack<double, W>& a) {
  return from_bits<double>(to_bits(a) & Pack<std::int64_t, W>(-(std::int64_t{1} << 32)));
}

// high + low = log2(x) to some 68 bits, for a finite x > 0.
template <int W>
[[gnu::always_inline]] inline void log2_of_two_parts(const Pack<double, W>& x, Pack<double, W>& high, Pack<double, W>& low) {
  using P = Pack<double, W>;
  using Ints = Pack<std::int64_t, W>;
  const auto subnormal = x < P((std::numeric_limits<double>::min)());
  const Ints bits = to_bits(select(subnormal, x * P(0x1p53), x));
  const Ints mantissa = bits & Ints((std::int64_t{1} << 52) - 1), one(std::int64_t{1023} << 52);
  // m in [1, sqrt(3/2)) near 1, in [sqrt(3/2), sqrt(3)) near 3/2, else half of it near 1
  const auto near_one = mantissa < Ints(std::int64_t{0x3988E} << 32), halve = mantissa >= Ints(std::int64_t{0xBB67A} << 32);
  const auto middle = ~near_one & ~halve;
  const P m = from_bits<double>((mantissa | one) - select(halve, Ints(std::int64_t{1} << 52), Ints(0)));
  const P exponent = to_real<double>(shift_down(bits, 52) - Ints(1023)) + select(halve, P(1), P(0)) - select(subnormal, P(53), P(0));
  const P center = select(middle, P(1.5), P(1)), difference = m - center, inverse = P(1) / (m + center);
  const P s = difference * inverse, s_high = upper(s), sum_high = upper(m + center), sum_low = m - (sum_high - center);
  const P s_low = inverse * ((difference - s_high * sum_high) - s_high * sum_low);
  const P s2 = s * s;
  const P tail = s2 * s2 *
                     polynomial(s2, 2.06975017800338417784e-01, 2.30660745775561754067e-01, 2.72728123808534006489e-01,
                                3.33333329818377432918e-01, 4.28571428578550184252e-01, 5.99999999999994648725e-01) +
                 s_low * (s_high + s);
  const P square = s_high * s_high, t_high = upper(P(3) + square + tail), t_low = tail - ((t_high - P(3)) - square);
  const P u = s_high * t_high, v = s_low * t_high + t_low * s;
  const P p_high = upper(u + v), p_low = v - (p_high - u);
  const P z_high = P(9.61796700954437255859e-01) * p_high;
  const P z_low =
      P(-7.02846165095275826516e-09) * p_high + p_low * P(9.61796693925975554329e-01) + select(middle, P(1.35003920212974897128e-08), P(0));
  const P offset = select(middle, P(5.84962487220764160156e-01), P(0));
  high = upper(((z_high + z_low) + offset) + exponent);
  low = z_low - (((high - exponent) - offset) - z_high);
}

// x^y for a finite x > 0.
template <int W>
[[gnu::always_inline]] inline Pack<double, W> pow_positive(const Pack<double, W>& x, const Pack<double, W>& given) {
  using P = Pack<double, W>;
  const P bound(0x1p65);  // beyond it the result is 0, 1 or infinity, and the sign of the logarithm decides
  const P y = select(given > bound, bound, select(given < -bound, -bound, given));
  P log_high, log_low;
  log2_of_two_parts(x, log_high, log_low);
  const P y_high = upper(y), product_high = y_high * log_high;
  const P product_low = (y - y_high) * log_high + y * log_low, z = product_high + product_low;
  // 2^z = 2^n e^r
  const P limit(2200), magic(Real<double>::round_magic);
  const P n = (select(z > limit, limit, select(z < -limit, -limit, z)) + magic) - magic;
  const P whole = select(abs(z) > limit, P(0), n), high = product_high - whole, t = upper(product_low + high);
  const P u = t * P(6.93147182464599609375e-01);
  const P v = (product_low - (t - high)) * P(6.93147180559945286227e-01) + t * P(-1.90465429995776804525e-09);
  const P w = u + v, rest = v - (w - u), square = w * w;
  const P t1 = w - square * polynomial(square, 4.13813679705723846039e-08, -1.65339022054652515390e-06, 6.61375632143793436117e-05,
                                       -2.77777777770155933842e-03, 1.66666666666666019037e-01);
  const P result = P(1) - (((w * t1) / (t1 - P(2)) - (rest + w * rest)) - w);
  const P infinity(std::numeric_limits<double>::infinity());
  const P reach(1080), bounded = select(n > reach, reach, select(n < -reach, -reach, n));
  return select(z > P(1025), infinity, select(z < P(-1080), P(0), scale(result, bounded)));
}

// |x|^y in double for a float Pack: errors of the logarithm stay far below a float's last bit.
template <int W>
[[gnu::always_inline]] inline Pack<float, W> pow_through_double(const Pack<float, W>& x, const Pack<float, W>& y) {
  const auto half = [](const auto& base, const auto& exponent) __attribute__((always_inline)) {
    return convert<float>(exp(convert<double>(exponent) * log(convert<double>(base))));
  };
  return join_halves(half(low_half(x), low_half(y)), half(high_half(x), high_half(y)));
}

}  // namespace detail

// x^y with the special values of IEEE 754: x^0 = 1^y = 1, whatever the other one; a negative x has powers of integers only.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> pow(const Pack<T, W>& x, const Pack<T, W>& y) {
  using P = Pack<T, W>;
  const P infinity(std::numeric_limits<T>::infinity()), zero(0), one(1), size = abs(x);
  const P half = y * P(0.5);
  const auto integral = floor(y) == y, odd = integral & (floor(half) != half) & (abs(y) < infinity);
  P positive;
  if constexpr (std::same_as<T, float>)
    positive = detail::pow_through_double(size, y);
  else
    positive = detail::pow_positive(size, y);
  const auto edge = (size == zero) | (size == infinity);  // (+-0 or +-infinity)^y
  positive = select(edge, select((size == zero) ^ (y > zero), infinity, zero), positive);
  const P signed_result = select((to_bits(x) < Pack<bits_t<T>, W>(0)) & odd, -positive, positive);
  const P result = select((x < zero) & ~integral & ~edge, P(std::numeric_limits<T>::quiet_NaN()), signed_result);
  const auto unit = (size == one) & (abs(y) == infinity);  // (+-1)^(+-infinity)
  return select((y == zero) | (x == one) | unit, one, select((x != x) | (y != y), x + y, result));
}

// x^y for one exponent.
template <class T, int W, class S>
requires std::is_arithmetic_v<S>
[[gnu::always_inline]] inline Pack<T, W> pow(const Pack<T, W>& x, S y) { return pow(x, Pack<T, W>(y)); }

}  // namespace minitorch::kernels
