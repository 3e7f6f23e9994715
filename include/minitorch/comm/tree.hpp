// The one order in which values of several ranks are combined: a binary tree that splits n at the largest power of two below it.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <minitorch/comm/types.hpp>
#include <minitorch/kernels/map.hpp>

namespace minitorch::comm {

// Where the tree over n leaves splits: n = 5 is 4 + 1, n = 6 is 4 + 2, n = 8 is 4 + 4.
constexpr int tree_split(int n) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n - 1))); }

// Elements combined at a time: the inner nodes of the tree stay in the first-level cache.
inline constexpr std::int64_t tree_block = 2048;

namespace detail {

template <class C>
using Block = std::array<C, static_cast<std::size_t>(tree_block)>;

// out[i] = f(in[i]...): kernels::map for floating point, the same without conversions for integers.
template <class F, class Out, class... In>
void combine_lanes(std::int64_t size, const F& f, Out* out, const In*... in) {
  if constexpr (std::is_integral_v<Out>) {
    kernels::dispatch([&](auto bytes) __attribute__((always_inline)) {
      constexpr int W = bytes() / int{sizeof(Out)};
      using P = kernels::Pack<Out, W>;
      const std::int64_t full = size / W * W;
      for (std::int64_t i = 0; i < full; i += W) kernels::detail::store_raw(out + i, f(kernels::detail::load_raw<W, Out>(in + i)...));
      if (full == size) return;
      const auto rest = [&](const Out* from) __attribute__((always_inline)) {
        P pack;
        std::memcpy(&pack.v, from + full, static_cast<std::size_t>(size - full) * sizeof(Out));
        return pack;
      };
      const P result = f(rest(in)...);
      std::memcpy(out + full, &result.v, static_cast<std::size_t>(size - full) * sizeof(Out));
    });
  } else {
    kernels::map(size, f, out, in...);
  }
}

// out = the tree's sum of in[0 .. n), each read from index `at`, not yet rounded to a narrow type. `out` may be one of them.
template <class T>
void sum_tree(const T* const* in, int n, std::int64_t at, std::int64_t size, compute_t<T>* out) {
  switch (n) {
    case 1:
      return kernels::map(
          size, [](const auto& a) { return a; }, out, in[0] + at);
    case 2:
      return kernels::map(
          size, [](const auto& a, const auto& b) { return a + b; }, out, in[0] + at, in[1] + at);
    case 3:
      return kernels::map(
          size, [](const auto& a, const auto& b, const auto& c) { return (a + b) + c; }, out, in[0] + at, in[1] + at, in[2] + at);
    case 4:
      return kernels::map(
          size, [](const auto& a, const auto& b, const auto& c, const auto& d) { return (a + b) + (c + d); }, out, in[0] + at, in[1] + at,
          in[2] + at, in[3] + at);
    default: {
      alignas(64) Block<compute_t<T>> left, right;
      sum_tree(in, tree_split(n), at, size, left.data());
      sum_tree(in + tree_split(n), n - tree_split(n), at, size, right.data());
      kernels::map(
          size, [](const auto& a, const auto& b) { return a + b; }, out, left.data(), right.data());
    }
  }
}

// The sum, or the sum divided by n, rounded once.
template <class T>
void sum_floats(const void* const* sources, int n, std::int64_t at, std::int64_t size, void* to, bool average) {
  const T* const* in = reinterpret_cast<const T* const*>(sources);
  T* const out = static_cast<T*>(to);
  alignas(64) Block<compute_t<T>> wide;
  compute_t<T>* sum = wide.data();
  if constexpr (!is_narrow<T>) sum = out;
  sum_tree(in, n, at, size, sum);
  const compute_t<T> ranks = static_cast<compute_t<T>>(n);
  if (average)
    kernels::map(
        size, [ranks](const auto& a) { return a / ranks; }, out, sum);
  else if constexpr (is_narrow<T>)
    kernels::map(
        size, [](const auto& a) { return a; }, out, sum);
}

// Folds by a function of Packs of C, in the order of ranks, as exact functions may.
template <class T, class C, class Join>
void fold(const void* const* sources, int n, std::int64_t at, std::int64_t size, void* to, const Join& join) {
  const auto in = [&](int k) { return static_cast<const T*>(sources[k]) + at; };
  const auto keep = [](const auto& a) { return a; };
  alignas(64) Block<C> sum, next;
  combine_lanes(size, keep, sum.data(), in(0));
  for (int k = 1; k < n; ++k) {
    const C* other = next.data();
    if constexpr (std::is_same_v<T, C>)
      other = in(k);
    else
      combine_lanes(size, keep, next.data(), in(k));
    combine_lanes(size, join, sum.data(), static_cast<const C*>(sum.data()), other);
  }
  combine_lanes(size, keep, static_cast<T*>(to), static_cast<const C*>(sum.data()));
}

template <class T>
void extreme(bool largest, const void* const* sources, int n, std::int64_t at, std::int64_t size, void* to) {
  using C = compute_t<T>;
  // A NaN on either side stays.
  if (largest)
    fold<T, C>(sources, n, at, size, to, [](const auto& a, const auto& b) { return select((a > b) | (a != a), a, b); });
  else
    fold<T, C>(sources, n, at, size, to, [](const auto& a, const auto& b) { return select((a < b) | (a != a), a, b); });
}

template <class T>
void wrapping_sum(const void* const* sources, int n, std::int64_t at, std::int64_t size, void* to) {
  fold<T, T>(sources, n, at, size, to, [](const auto& a, const auto& b) { return a + b; });
}

template <bool Both>
void bitwise(const void* const* sources, int n, std::int64_t at, std::int64_t size, void* to) {
  fold<std::uint8_t, std::uint8_t>(sources, n, at, size, to, [](const auto& a, const auto& b) {
    if constexpr (Both)
      return a & b;
    else
      return a | b;
  });
}

// The sum of two or four ranks, written to all of them at once.
template <class T>
void sum_for_all(const void* const* sources, int n, std::int64_t at, std::int64_t size, void* const* outs) {
  const auto in = [&](int k) { return static_cast<const T*>(sources[k]) + at; };
  const auto out = [&](int k) { return static_cast<T*>(outs[k]); };
  if (n == 2)
    kernels::map(
        size,
        [](const auto& a, const auto& b) {
          const auto sum = a + b;
          return std::tuple(sum, sum);
        },
        std::tuple(out(0), out(1)), in(0), in(1));
  else
    kernels::map(
        size,
        [](const auto& a, const auto& b, const auto& c, const auto& d) {
          const auto sum = (a + b) + (c + d);
          return std::tuple(sum, sum, sum, sum);
        },
        std::tuple(out(0), out(1), out(2), out(3)), in(0), in(1), in(2), in(3));
}

// The reduction into one output.
inline void combine_one(Reduction reduction, WireType type, const void* const* sources, int n, std::int64_t at, std::int64_t size,
                        void* out) {
  if (reduction == Reduction::bit_and || reduction == Reduction::bit_or) {  // whatever the type, bytes
    const std::int64_t bytes = wire_size(type);
    for (std::int64_t done = 0; done < size * bytes; done += tree_block) {
      const std::int64_t part = (std::min)(tree_block, size * bytes - done);
      void* const to = static_cast<std::byte*>(out) + done;
      if (reduction == Reduction::bit_and)
        detail::bitwise<true>(sources, n, at * bytes + done, part, to);
      else
        detail::bitwise<false>(sources, n, at * bytes + done, part, to);
    }
    return;
  }
  const bool average = reduction == Reduction::average, sums = average || reduction == Reduction::sum,
             largest = reduction == Reduction::max;
  switch (type) {
    case WireType::f64:
      return sums ? detail::sum_floats<double>(sources, n, at, size, out, average)
                  : detail::extreme<double>(largest, sources, n, at, size, out);
    case WireType::f32:
      return sums ? detail::sum_floats<float>(sources, n, at, size, out, average)
                  : detail::extreme<float>(largest, sources, n, at, size, out);
    case WireType::f16:
      return sums ? detail::sum_floats<half>(sources, n, at, size, out, average)
                  : detail::extreme<half>(largest, sources, n, at, size, out);
    case WireType::bf16:
      return sums ? detail::sum_floats<bfloat16>(sources, n, at, size, out, average)
                  : detail::extreme<bfloat16>(largest, sources, n, at, size, out);
    case WireType::i64:
      return sums ? detail::wrapping_sum<std::uint64_t>(sources, n, at, size, out)
                  : detail::extreme<std::int64_t>(largest, sources, n, at, size, out);
    case WireType::i32:
      return sums ? detail::wrapping_sum<std::uint32_t>(sources, n, at, size, out)
                  : detail::extreme<std::int32_t>(largest, sources, n, at, size, out);
    case WireType::u8:
    case WireType::boolean:
    case WireType::byte:
      return sums ? detail::wrapping_sum<std::uint8_t>(sources, n, at, size, out)
                  : detail::extreme<std::uint8_t>(largest, sources, n, at, size, out);
  }
}

}  // namespace detail

// outs[k][i] = the reduction of sources[0 .. n)[at + i] for i < size <= tree_block and k < m. An output may be one of the sources at `at`.
// An element's bits depend on its n values alone. Integers wrap around.
inline void combine(Reduction reduction, WireType type, const void* const* sources, int n, std::int64_t at, std::int64_t size,
                    void* const* outs, int m) {
  if (reduction == Reduction::sum && n == m && (n == 2 || n == 4)) {
    switch (type) {
      case WireType::f64: return detail::sum_for_all<double>(sources, n, at, size, outs);
      case WireType::f32: return detail::sum_for_all<float>(sources, n, at, size, outs);
      case WireType::f16: return detail::sum_for_all<half>(sources, n, at, size, outs);
      case WireType::bf16: return detail::sum_for_all<bfloat16>(sources, n, at, size, outs);
      default: break;
    }
  }
  detail::combine_one(reduction, type, sources, n, at, size, outs[0]);
  for (int k = 1; k < m; ++k)
    if (outs[k] != outs[0]) std::memcpy(outs[k], outs[0], static_cast<std::size_t>(size * wire_size(type)));
}

}  // namespace minitorch::comm
