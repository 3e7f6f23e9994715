// Reductions of [outer, n, inner] to [outer, inner]. Sums and products are kept in double, whatever is stored, and rounded once.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <minitorch/core/parallel_for.hpp>
#include <minitorch/kernels/dispatch.hpp>
#include <minitorch/kernels/load_store.hpp>
#include <minitorch/memory/workspace.hpp>

namespace minitorch::kernels {

// A reduction: the type it is kept in, what it starts from, what it does to an element, and how two parts join.
struct Sum {
  template <class T>
  using Kept = double;
  static constexpr double identity = 0;
  static auto element(const auto& x) { return x; }
  static auto join(const auto& a, const auto& b) { return a + b; }
};
struct SumSquares : Sum {
  static auto element(const auto& x) { return x * x; }
};
struct Product : Sum {
  static constexpr double identity = 1;
  static auto join(const auto& a, const auto& b) { return a * b; }
};
struct Max {  // NaN when there is a NaN
  template <class T>
  using Kept = compute_t<T>;
  static constexpr double identity = -std::numeric_limits<double>::infinity();
  static auto element(const auto& x) { return x; }
  static auto join(const auto& a, const auto& b) { return select((a > b) | (a != a), a, b); }
};
struct Min : Max {
  static constexpr double identity = std::numeric_limits<double>::infinity();
  static auto join(const auto& a, const auto& b) { return select((a < b) | (a != a), a, b); }
};

namespace detail {

// Elements of a row, and rows of a column, that one partial result covers: fixed, so that the tree depends on the size alone.
inline constexpr std::int64_t row_piece = 1 << 14, column_piece = 256;

template <class R, class A, int W>
[[gnu::always_inline]] inline A join_lanes(const Pack<A, W>& a) {
  if constexpr (W == 1)
    return a[0];
  else
    return join_lanes<R>(call_inlined(R::template join<Pack<A, W / 2>, Pack<A, W / 2>>, low_half(a), high_half(a)));
}

// The reduction of one contiguous run, by `chains` accumulators of whole packs.
template <class R, class A, int Bytes, class T>
[[gnu::always_inline]] inline A reduce_run(std::int64_t n, const T* from) {
  constexpr int W = Bytes / int{sizeof(A)}, chains = 8;
  using P = Pack<A, W>;
  const auto join = [](const P& a, const P& b) __attribute__((always_inline)) { return call_inlined(R::template join<P, P>, a, b); };
  P kept[chains];
  for (P& k : kept) k = P(R::identity);
  std::int64_t i = 0;
  for (; i + chains * W <= n; i += chains * W)
    for (int c = 0; c < chains; ++c) kept[c] = join(kept[c], R::element(load<P>(from + i + c * W)));
  for (; i + W <= n; i += W) kept[0] = join(kept[0], R::element(load<P>(from + i)));
  if (i < n) {
    P last{R::identity};
    for (int j = 0; i + j < n; ++j) last.set(j, R::element(load<Pack<A, 1>>(from + i + j))[0]);
    kept[0] = join(kept[0], last);
  }
  for (int width = chains / 2; width > 0; width /= 2)
    for (int c = 0; c < width; ++c) kept[c] = join(kept[c], kept[c + width]);
  return join_lanes<R>(kept[0]);
}

// kept[j] = the reduction of rows [0, n) of column j, for `columns` columns that lie next to each other.
template <class R, class A, int Bytes, class T>
[[gnu::always_inline]] inline void reduce_columns(std::int64_t n, std::int64_t columns, std::int64_t row_stride, const T* from, A* kept) {
  const auto sweep = [&]<int W>(std::integral_constant<int, W>, std::int64_t first, std::int64_t last) __attribute__((always_inline)) {
    using P = Pack<A, W>;
    const auto join = [](const P& a, const P& b) __attribute__((always_inline)) { return call_inlined(R::template join<P, P>, a, b); };
    const auto at = [&](std::int64_t row, std::int64_t j) __attribute__((always_inline)) {
      return R::element(load<P>(from + row * row_stride + j));
    };
    for (std::int64_t j = first; j < last; ++j) kept[j] = static_cast<A>(R::identity);
    std::int64_t i = 0;
    for (; i + 4 <= n; i += 4)
      for (std::int64_t j = first; j < last; j += W)
        store(kept + j, join(load<P>(kept + j), join(join(at(i, j), at(i + 1, j)), join(at(i + 2, j), at(i + 3, j)))));
    for (; i < n; ++i)
      for (std::int64_t j = first; j < last; j += W) store(kept + j, join(load<P>(kept + j), at(i, j)));
  };
  constexpr int W = Bytes / int{sizeof(A)};
  constexpr std::int64_t block = 512;  // columns whose accumulators stay in the first cache
  const std::int64_t full = columns / W * W;
  for (std::int64_t j = 0; j < full; j += block) sweep(std::integral_constant<int, W>(), j, (std::min)(full, j + block));
  sweep(std::integral_constant<int, 1>(), full, columns);
}

// Joins neighbours until one row of parts is left, divides it and stores it.
template <class R, class A, int Bytes, class Out>
[[gnu::always_inline]] inline void finish_parts(std::int64_t pieces, std::int64_t inner, A* parts, double divisor, Out* out) {
  const auto sweep = [&]<int W>(std::integral_constant<int, W>, std::int64_t first, std::int64_t last) __attribute__((always_inline)) {
    using P = Pack<A, W>;
    for (std::int64_t j = first; j < last; j += W) {
      for (std::int64_t left = pieces; left > 1; left = (left + 1) / 2)
        for (std::int64_t p = 0; p < (left + 1) / 2; ++p) {
          P joined = load<P>(parts + 2 * p * inner + j);
          if (2 * p + 1 < left) joined = call_inlined(R::template join<P, P>, joined, load<P>(parts + (2 * p + 1) * inner + j));
          store(parts + p * inner + j, joined);
        }
      store(out + j, load<P>(parts + j) / P(divisor));
    }
  };
  constexpr int W = Bytes / int{sizeof(A)};
  const std::int64_t full = inner / W * W;
  sweep(std::integral_constant<int, W>(), 0, full);
  sweep(std::integral_constant<int, 1>(), full, inner);
}

}  // namespace detail

// out[o, j] = the reduction over i of in[o, i, j], divided by `divisor`. R is Sum, SumSquares, Product, Max or Min; of no elements
// it is R::identity. NaN propagates. The order of joining depends on the sizes alone, never on the number of threads.
template <class R, Element T, class Out>
void reduce(std::int64_t outer, std::int64_t n, std::int64_t inner, const T* in, Out* out, double divisor = 1) {
  using A = typename R::template Kept<T>;
  const bool rows = inner == 1;
  const std::int64_t piece = rows ? detail::row_piece : detail::column_piece, pieces = (std::max<std::int64_t>)(1, (n + piece - 1) / piece);
  if (outer * inner == 0) return;
  const Workspace<A> parts(outer * pieces * inner);
  const std::int64_t grain = (std::max<std::int64_t>)(1, (1 << 15) / (std::max<std::int64_t>)(1, (std::min)(n, piece) * inner));
  parallel_for(outer * pieces, grain, [&](std::int64_t first, std::int64_t last) {
    dispatch([&](auto bytes) __attribute__((always_inline)) {
      for (std::int64_t task = first; task < last; ++task) {
        const std::int64_t begin = task % pieces * piece, count = (std::min)(piece, n - begin);
        const T* from = in + (task / pieces * n + begin) * inner;
        A* to = parts.data() + task * inner;
        if (rows)
          *to = detail::reduce_run<R, A, bytes()>(count, from);
        else
          detail::reduce_columns<R, A, bytes()>(count, inner, inner, from, to);
      }
    });
  });
  dispatch([&](auto bytes) __attribute__((always_inline)) {
    if (pieces == 1) return detail::finish_parts<R, A, bytes()>(1, outer * inner, parts.data(), divisor, out);
    for (std::int64_t o = 0; o < outer; ++o)
      detail::finish_parts<R, A, bytes()>(pieces, inner, parts.data() + o * pieces * inner, divisor, out + o * inner);
  });
}

// out[o, j] = the first i at which in[o, i, j] is largest (smallest for Min); the first NaN when there is one. n must not be 0.
template <class R, Element T>
void arg_reduce(std::int64_t outer, std::int64_t n, std::int64_t inner, const T* in, std::int64_t* out) {
  const auto value = [](T x) { return static_cast<compute_t<T>>(x); };
  const auto better = [](auto a, auto b) { return std::is_same_v<R, Min> ? a < b : a > b; };
  const std::int64_t grain = (std::max<std::int64_t>)(1, (1 << 15) / (std::max<std::int64_t>)(1, n * inner));
  parallel_for(outer, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t o = first; o < last; ++o)
      for (std::int64_t j = 0; j < inner; ++j) {
        const T* column = in + o * n * inner + j;
        std::int64_t found = 0;
        for (std::int64_t i = 1; i < n; ++i) {
          const auto best = value(column[found * inner]), x = value(column[i * inner]);
          if (best == best && (better(x, best) || x != x)) found = i;
        }
        out[o * inner + j] = found;
      }
  });
}

}  // namespace minitorch::kernels
