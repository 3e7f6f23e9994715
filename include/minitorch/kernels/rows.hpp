// What the kernels over rows share: partial packs at a row's end, sums kept in double, threads over rows.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include <minitorch/core/parallel_for.hpp>
#include <minitorch/kernels/dispatch.hpp>
#include <minitorch/kernels/load_store.hpp>
#include <minitorch/kernels/math/basic.hpp>

namespace minitorch::kernels::detail {

// Copies fewer than 2 * Most elements, by steps of fixed size.
template <int Most, class T>
[[gnu::always_inline]] inline void copy_few(T* to, const T* from, std::int64_t count) {
  if constexpr (Most >= 1) {
    if ((count & Most) != 0) {
      __builtin_memcpy(to, from, Most * sizeof(T));
      to += Most;
      from += Most;
    }
    copy_few<Most / 2>(to, from, count);
  }
}

// The first `count` lanes from memory and `fill` in the others; all lanes when count is W or more.
template <class P, class T>
[[gnu::always_inline]] inline P load_some(const T* from, std::int64_t count, T fill = T(0)) {
  constexpr int W = P::width;
  if (count >= W) return load<P>(from);
  T lanes[static_cast<std::size_t>(W)];
  for (T& lane : lanes) lane = fill;
  copy_few<W / 2>(lanes, from, count);
  return load<P>(lanes);
}
template <class T, class C, int W>
[[gnu::always_inline]] inline void store_some(T* to, const Pack<C, W>& a, std::int64_t count) {
  if (count >= W) return store(to, a);
  T lanes[static_cast<std::size_t>(W)];
  store(lanes, a);
  copy_few<W / 2>(to, lanes, count);
}

// The first `count` lanes, and 0 in the others.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> keep_first(const Pack<T, W>& a, std::int64_t count) {
  T lanes[static_cast<std::size_t>(W)];
  store(lanes, a);
  return load_some<Pack<T, W>>(lanes, count);
}

// A mask from the first `count` bools, no in the other lanes.
template <class P>
[[gnu::always_inline]] inline typename P::MaskType load_mask(const bool* from, std::int64_t count) {
  constexpr int W = P::width;
  if (count >= W) return load<P>(from);
  bool lanes[static_cast<std::size_t>(W)] = {};
  copy_few<W / 2>(lanes, from, count);
  return load<P>(lanes);
}

// A sum of packs, kept in double.
template <class C, int W>
class Total {
 public:
  [[gnu::always_inline]] void add(const Pack<C, W>& a) {
    if constexpr (std::same_as<C, double>) {
      low_ += a;
    } else {
      low_ += convert<double>(low_half(a));
      high_ += convert<double>(high_half(a));
    }
  }
  [[gnu::always_inline]] double value() const { return lanes(low_ + high_); }

 private:
  static constexpr int width = std::same_as<C, double> ? W : W / 2;
  template <int N>
  [[gnu::always_inline]] static double lanes(const Pack<double, N>& a) {
    if constexpr (N == 1)
      return a[0];
    else
      return lanes(low_half(a) + high_half(a));
  }
  Pack<double, width> low_, high_;
};

// The largest lane; NaN when there is one.
template <class C, int W>
[[gnu::always_inline]] inline C largest(const Pack<C, W>& a) {
  if constexpr (W == 1)
    return a[0];
  else
    return largest(maximum(low_half(a), high_half(a)));
}

// Calls body(bytes of a vector, first row, last row) on the current path, by several threads when there is enough to do.
template <class Body>
void parallel_rows(std::int64_t rows, std::int64_t row_length, const Body& body) {
  const std::int64_t grain = (std::max<std::int64_t>)(1, (1 << 14) / (std::max<std::int64_t>)(1, row_length));
  parallel_for(rows, grain, [&](std::int64_t first, std::int64_t last) {
    dispatch([&](auto bytes) __attribute__((always_inline)) { body(bytes, first, last); });
  });
}

}  // namespace minitorch::kernels::detail
