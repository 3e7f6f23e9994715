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

// The first `count` of W elements, `fill` in the other lanes, for count < W.
template <class P, class T>
[[gnu::always_inline]] inline void load_first(P& out, const T* from, std::int64_t count, T fill) {
  constexpr int W = P::width;
  T lanes[static_cast<std::size_t>(W)];
  for (T& lane : lanes) lane = fill;
  copy_few<W / 2>(lanes, from, count);
  out = load<P>(lanes);
}
template <class T, class C, int W>
[[gnu::always_inline]] inline void store_first(T* to, const Pack<C, W>& a, std::int64_t count) {
  T lanes[static_cast<std::size_t>(W)];
  store(lanes, a);
  copy_few<W / 2>(to, lanes, count);
}

#if defined(__x86_64__)
// A vector in memory as an operand of an instruction: of any alignment, of whatever type.
struct [[gnu::packed, gnu::may_alias]] VectorBytes {
  char bytes[64];
};

// The same by masked instructions, which touch no memory beyond the lanes they take.
template <class P, class T>
requires(sizeof(P) == 64 && std::same_as<T, typename P::Scalar>)
    [[gnu::target("avx512f")]] inline void load_first(P& out, const T* from, std::int64_t count, T fill) {
  const std::conditional_t<P::width == 16, std::uint16_t, std::uint8_t> lanes = static_cast<decltype(lanes)>((1u << count) - 1);
  out = P(fill);
  const auto& memory = *reinterpret_cast<const VectorBytes*>(from);
  if constexpr (sizeof(T) == 4)
    asm("vmovups %1, %0%{%2%}" : "+v"(out.v) : "m"(memory), "Yk"(lanes));
  else
    asm("vmovupd %1, %0%{%2%}" : "+v"(out.v) : "m"(memory), "Yk"(lanes));
}
template <class T, int W>
requires(W * sizeof(T) == 64) [[gnu::target("avx512f")]] inline void store_first(T* to, const Pack<T, W>& a, std::int64_t count) {
  const std::conditional_t<W == 16, std::uint16_t, std::uint8_t> lanes = static_cast<decltype(lanes)>((1u << count) - 1);
  auto& memory = *reinterpret_cast<VectorBytes*>(to);
  if constexpr (sizeof(T) == 4)
    asm("vmovups %1, %0%{%2%}" : "+m"(memory) : "v"(a.v), "Yk"(lanes));
  else
    asm("vmovupd %1, %0%{%2%}" : "+m"(memory) : "v"(a.v), "Yk"(lanes));
}
#endif

// The first `count` lanes from memory and `fill` in the others; all lanes when count is W or more.
template <class P, class T>
[[gnu::always_inline]] inline P load_some(const T* from, std::int64_t count, T fill = T(0)) {
  if (count >= P::width) return load<P>(from);
  P out;
  load_first(out, from, count, fill);
  return out;
}
template <class T, class C, int W>
[[gnu::always_inline]] inline void store_some(T* to, const Pack<C, W>& a, std::int64_t count) {
  if (count >= W) return store(to, a);
  store_first(to, a, count);
}

// Yes in the first `count` lanes.
template <class P>
[[gnu::always_inline]] inline typename P::MaskType first_lanes(std::int64_t count) {
  using Lane = bits_t<typename P::Scalar>;
  Pack<Lane, P::width> index;
  for (int i = 0; i < P::width; ++i) index.set(i, static_cast<Lane>(i));
  return index < Pack<Lane, P::width>(count);
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

// A sum of packs, kept in double; eight packs of floats are added up before they are widened.
template <class C, int W>
class Total {
 public:
  [[gnu::always_inline]] void add(const Pack<C, W>& a) {
    recent_ += a;
    if constexpr (std::same_as<C, float>)
      if (++count_ == 8) widen();
  }
  [[gnu::always_inline]] double value() {
    if constexpr (std::same_as<C, double>) {
      return lanes(recent_);
    } else {
      widen();
      return lanes(low_ + high_);
    }
  }

 private:
  [[gnu::always_inline]] void widen() {
    low_ += convert<double>(low_half(recent_));
    high_ += convert<double>(high_half(recent_));
    recent_ = Pack<C, W>();
    count_ = 0;
  }
  template <int N>
  [[gnu::always_inline]] static double lanes(const Pack<double, N>& a) {
    if constexpr (N == 1)
      return a[0];
    else
      return lanes(low_half(a) + high_half(a));
  }

  Pack<C, W> recent_;
  Pack<double, std::same_as<C, double> ? 1 : W / 2> low_, high_;
  int count_ = 0;
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
