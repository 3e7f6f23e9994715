// Rounding to bfloat16 for the paths whose products flush subnormal numbers: by one instruction, which flushes them too.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>

#include <minitorch/core/scalar.hpp>
#include <minitorch/kernels/load_store.hpp>
#include <minitorch/kernels/pack.hpp>

namespace minitorch::kernels::detail {

#if defined(__x86_64__)
[[gnu::target("avx512f")]] inline void narrow_flushed(Pack<std::int16_t, 16>& out, const Pack<float, 16>& in) {
  asm("vcvtneps2bf16 %1, %0" : "=v"(out.v) : "v"(in.v));
}
[[gnu::target("avx512f")]] inline void narrow_flushed(Pack<std::int16_t, 32>& out, const Pack<float, 16>& low,
                                                      const Pack<float, 16>& high) {
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(out.v) : "v"(low.v), "v"(high.v));
}
#endif

// store(), but with Flush a float that is subnormal may become a bfloat16 of zero.
template <bool Flush, class T, class C, int W>
[[gnu::always_inline]] inline void store_product(T* to, const Pack<C, W>& a) {
#if defined(__x86_64__)
  if constexpr (Flush && std::same_as<T, bfloat16> && std::same_as<C, float> && W == 16) {
    Pack<std::int16_t, 16> bits;
    narrow_flushed(bits, a);
    return store_raw(to, bits);
  }
#endif
  store(to, a);
}

// The same for two neighbours.
template <bool Flush, class T, class C, int W>
[[gnu::always_inline]] inline void store_products(T* to, const Pack<C, W>& a, const Pack<C, W>& b) {
#if defined(__x86_64__)
  if constexpr (Flush && std::same_as<T, bfloat16> && std::same_as<C, float> && W == 16) {
    Pack<std::int16_t, 32> bits;
    narrow_flushed(bits, a, b);
    return store_raw(to, bits);
  }
#endif
  store_product<Flush>(to, a);
  store_product<Flush>(to + W, b);
}

}  // namespace minitorch::kernels::detail
