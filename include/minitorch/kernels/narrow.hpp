// half and bfloat16 to float and back, a Pack at a time: exact up, nearest even down, subnormals kept, NaN quiet.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include <minitorch/core/scalar.hpp>
#include <minitorch/kernels/pack.hpp>

namespace minitorch::kernels {

namespace detail {

template <int W>
[[gnu::always_inline]] inline void half_up(Pack<float, W>& out, const Pack<std::int16_t, W>& h) {
  using Ints = Pack<std::int32_t, W>;
  const Ints all = convert<std::int32_t>(h);  // the sign extends upwards
  const Ints magnitude = (all & Ints(0x7fff)) << 13, sign = all & Ints(static_cast<std::int32_t>(0x80000000u));
  const Ints normal = magnitude + Ints(112 << 23);
  const Ints subnormal = to_bits(convert<float>(magnitude >> 13) * Pack<float, W>(0x1p-24f));
  const Ints special = magnitude | Ints(0x7f800000) | select(magnitude > Ints(0x0f800000), Ints(0x400000), Ints(0));
  out = from_bits<float>(sign | select(magnitude < Ints(1 << 23), subnormal, select(magnitude >= Ints(0x0f800000), special, normal)));
}

template <int W>
[[gnu::always_inline]] inline void half_down(Pack<std::int16_t, W>& out, const Pack<float, W>& a) {
  using Ints = Pack<std::int32_t, W>;
  const Ints all = to_bits(a), magnitude = all & Ints(0x7fffffff), sign = (all >> 16) & Ints(0x8000);
  const Ints even = (magnitude >> 13) & Ints(1);
  const Ints normal = (magnitude + Ints(0xfff) + even - Ints(112 << 23)) >> 13;  // a carry into the exponent is what rounding up means
  // 0.5 has the spacing of subnormal halves: the addition rounds.
  const Ints subnormal = to_bits(from_bits<float>(magnitude) + Pack<float, W>(0.5f)) - Ints(0x3f000000);
  const Ints nan = Ints(0x7e00) | ((magnitude >> 13) & Ints(0x3ff));
  const Ints finite = select(magnitude < Ints(113 << 23), subnormal, normal);
  const Ints large = select(magnitude > Ints(0x7f800000), nan, Ints(0x7c00));
  out = convert<std::int16_t>(sign | select(magnitude >= Ints(143 << 23), large, finite));
}

#if defined(__x86_64__)
// The processor's conversions of halves. Written as assembly because <immintrin.h> costs each consumer 0.3 s; called only with
// Packs of the size that belongs to the path, so the instruction exists.
[[gnu::target("avx512f")]] inline void half_up(Pack<float, 16>& out, const Pack<std::int16_t, 16>& in) {
  asm("vcvtph2ps %1, %0" : "=v"(out.v) : "v"(in.v));
}
[[gnu::target("avx512f")]] inline void half_down(Pack<std::int16_t, 16>& out, const Pack<float, 16>& in) {
  asm("vcvtps2ph $0, %1, %0" : "=v"(out.v) : "v"(in.v));
}
// As the general ones below, for which compilers take twice the instructions.
[[gnu::target("avx512f")]] inline void bfloat16_up(Pack<float, 16>& out, const Pack<std::int16_t, 16>& in) {
  asm("vpmovzxwd %1, %0\n\tvpslld $16, %0, %0" : "=v"(out.v) : "v"(in.v));
}
[[gnu::target("avx512f")]] inline void bfloat16_down(Pack<std::int16_t, 16>& out, const Pack<float, 16>& in) {
  using Ints = Pack<std::int32_t, 16>;
  const Ints all = to_bits(in), quiet(0x400000);
  Ints rounded = all + Ints(0x7fff) + ((all >> 16) & Ints(1));
  std::uint16_t nan;
  asm("vcmpunordps %3, %3, %1\n\tvpord %2, %3, %0%{%1%}\n\tvpsrld $16, %0, %0" : "+v"(rounded.v), "=&Yk"(nan) : "v"(quiet.v), "v"(in.v));
  asm("vpmovdw %1, %0" : "=v"(out.v) : "v"(rounded.v));
}
[[gnu::target("avx2,f16c")]] inline void half_up(Pack<float, 8>& out, const Pack<std::int16_t, 8>& in) {
  asm("vcvtph2ps %1, %0" : "=x"(out.v) : "x"(in.v));
}
[[gnu::target("avx2,f16c")]] inline void half_down(Pack<std::int16_t, 8>& out, const Pack<float, 8>& in) {
  asm("vcvtps2ph $0, %1, %0" : "=x"(out.v) : "x"(in.v));
}
#endif

template <int W>
[[gnu::always_inline]] inline void bfloat16_up(Pack<float, W>& out, const Pack<std::int16_t, W>& in) {
  out = from_bits<float>(convert<std::int32_t>(in) << 16);
}
template <int W>
[[gnu::always_inline]] inline void bfloat16_down(Pack<std::int16_t, W>& out, const Pack<float, W>& in) {
  using Ints = Pack<std::int32_t, W>;
  const Ints all = to_bits(in);
  const Ints rounded = (all + Ints(0x7fff) + ((all >> 16) & Ints(1))) >> 16;
  out = convert<std::int16_t>(select(in == in, rounded, (all >> 16) | Ints(0x40)));
}

}  // namespace detail

// The values of W halves or bfloat16s given by their bits. A NaN keeps what fits of its payload; every path gives the same bits.
template <class T, int W>
[[gnu::always_inline]] inline Pack<float, W> widen(const Pack<std::int16_t, W>& stored) {
  Pack<float, W> out;
  if constexpr (std::same_as<T, bfloat16>)
    detail::bfloat16_up(out, stored);
  else
    detail::half_up(out, stored);
  return out;
}

// The bits of W halves or bfloat16s nearest to the values.
template <class T, int W>
[[gnu::always_inline]] inline Pack<std::int16_t, W> narrow(const Pack<float, W>& a) {
  Pack<std::int16_t, W> out;
  if constexpr (std::same_as<T, bfloat16>)
    detail::bfloat16_down(out, a);
  else
    detail::half_down(out, a);
  return out;
}

// One number, rounded once: a double goes through a float rounded to odd, so that the second rounding sees what the first dropped.
template <class T>
inline T narrow_one(double number) {
  float near = static_cast<float>(number);
  const double error = number - static_cast<double>(near);
  auto bits = std::bit_cast<std::int32_t>(near);
  if (error != 0 && std::isfinite(error) && (bits & 1) == 0) {  // the odd neighbour on the other side of the value
    const bool away = (error > 0) == (near >= 0 && !(near == 0 && number < 0));
    near = std::bit_cast<float>(away ? bits + 1 : bits - 1);
  }
  const Pack<std::int16_t, 4> out = narrow<T>(Pack<float, 4>(near));
  return std::bit_cast<T>(out[0]);
}

}  // namespace minitorch::kernels
