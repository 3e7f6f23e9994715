// Loads and stores of Packs that convert between the stored type and the computed one. Any alignment.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <minitorch/core/scalar.hpp>
#include <minitorch/kernels/narrow.hpp>
#include <minitorch/kernels/pack.hpp>

namespace minitorch::kernels {

namespace detail {

// W numbers as they lie in memory.
template <int W, class T>
[[gnu::always_inline]] inline Pack<T, W> load_raw(const void* from) {
  Pack<T, W> out;
  __builtin_memcpy(&out.v, from, sizeof out.v);
  return out;
}
template <class T, int W>
[[gnu::always_inline]] inline void store_raw(void* to, const Pack<T, W>& a) {
  __builtin_memcpy(to, &a.v, sizeof a.v);
}

}  // namespace detail

// Pack<C, W> or Mask<B, W> from W elements of a stored type: load<Pack<float, 16>>(const bfloat16*). A mask loads from bool.
template <class P, class T>
[[gnu::always_inline]] inline auto load(const T* from) {
  constexpr int W = P::width;
  using C = typename P::Scalar;
  if constexpr (std::same_as<T, bool>) {
    const Pack<std::int8_t, W> bytes = detail::load_raw<W, std::int8_t>(from);
    return typename P::MaskType((-convert<bits_t<C>>(bytes)).v);
  } else if constexpr (is_narrow<T>) {
    const Pack<float, W> wide = widen<T>(detail::load_raw<W, std::int16_t>(from));
    return convert<C>(wide);
  } else {
    return convert<C>(detail::load_raw<W, T>(from));
  }
}

// W elements of a stored type from a Pack or a Mask; narrow types round to nearest even.
template <class T, class C, int W>
[[gnu::always_inline]] inline void store(T* to, const Pack<C, W>& a) {
  if constexpr (is_narrow<T> && std::same_as<C, double>) {
    for (int i = 0; i < W; ++i) to[i] = narrow_one<T>(a[i]);
  } else if constexpr (is_narrow<T>) {
    detail::store_raw(to, narrow<T>(convert<float>(a)));
  } else if constexpr (std::same_as<T, bool>) {
    store(to, a != Pack<C, W>());
  } else {
    detail::store_raw(to, convert<T>(a));
  }
}
template <class T, int B, int W>
[[gnu::always_inline]] inline void store(T* to, const Mask<B, W>& m) {
  const Pack<typename Mask<B, W>::Lane, W> ones(-m.v);
  if constexpr (std::same_as<T, bool>)
    detail::store_raw(to, convert<std::int8_t>(ones));
  else
    store(to, convert<compute_t<T>>(ones));
}

}  // namespace minitorch::kernels
