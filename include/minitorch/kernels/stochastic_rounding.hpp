// Stochastic rounding to half and bfloat16: up or down by chance, so that the expected value is the number itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <minitorch/core/scalar.hpp>
#include <minitorch/kernels/pack.hpp>

namespace minitorch::kernels {

// One of the two values of T around x: the one further from zero with the probability of how far x lies towards it, given u uniform in
// [0, 1). What T holds stays as it is, NaN and infinities too. The result converts to T without rounding, but beyond the largest T.
template <class T, int W>
[[gnu::always_inline]] inline Pack<float, W> round_stochastically(const Pack<float, W>& x, const Pack<float, W>& u) {
  static_assert(is_narrow<T>);
  using Ints = Pack<std::int32_t, W>;
  constexpr int dropped = std::same_as<T, bfloat16> ? 16 : 13;
  const Ints chance = convert<std::int32_t>(u * Pack<float, W>(static_cast<float>(1 << dropped)));
  const Ints kept(-(1 << dropped));
  // A carry out of the dropped bits is the step away from zero, also into the next exponent.
  Pack<float, W> out = from_bits<float>((to_bits(x) + chance) & kept);
  if constexpr (std::same_as<T, half>) {  // subnormal halves have one spacing, 2^-24
    const Pack<float, W> magnitude = from_bits<float>(to_bits(x) & Ints(0x7fffffff));
    const Pack<float, W> counted = magnitude * Pack<float, W>(0x1p24f) + convert<float>(chance) * Pack<float, W>(0x1p-13f);
    const Pack<float, W> rounded = convert<float>(convert<std::int32_t>(counted)) * Pack<float, W>(0x1p-24f);
    const Ints sign = to_bits(x) & Ints(-0x7fffffff - 1);
    out = select(magnitude < Pack<float, W>(0x1p-14f), from_bits<float>(to_bits(rounded) | sign), out);
  }
  return select(x == x, out, x);
}

}  // namespace minitorch::kernels
