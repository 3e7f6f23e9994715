// The innermost part of a product: a tile of c, held in registers, that takes a column of a times a row of b per step of k.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <minitorch/core/scalar.hpp>
#include <minitorch/kernels/dispatch.hpp>
#include <minitorch/kernels/gemm_ahead.hpp>
#include <minitorch/kernels/gemm_narrow.hpp>
#include <minitorch/kernels/load_store.hpp>
#include <minitorch/kernels/pack.hpp>

namespace minitorch::kernels {

namespace detail {

// What a product computes with. A unit is one step of k: a number, or for Bf16Pair two neighbours in k that are multiplied and
// added by one instruction. `Element` is what operands are converted to, `Sum` what products are added up in.
struct DoubleArithmetic {
  using Element = double;
  using Unit = double;
  using Sum = double;
};
struct FloatArithmetic {
  using Element = float;
  using Unit = float;
  using Sum = float;
};
struct Bf16Arithmetic {
  using Element = bfloat16;
  using Unit = std::int32_t;
  using Sum = float;
};

template <class Arithmetic>
inline constexpr std::int64_t unit_elements = std::int64_t{sizeof(typename Arithmetic::Unit) / sizeof(typename Arithmetic::Element)};

// c = a b, or c += a b, over k units, for `tiles` tiles of one height, one below the other. In bytes: unit (i, p) of the first tile's
// rows of a is at a + i * a_row + p * a_step, the next tile's are a_tile further; row p of b is at b + p * b_step.
template <class Arithmetic>
struct TileJob {
  std::int64_t k, tiles;
  const std::byte* a;
  std::int64_t a_row, a_step, a_tile;
  const std::byte* b;
  std::int64_t b_step;
  typename Arithmetic::Sum* c;
  std::int64_t c_row;
  const std::byte* result;  // where the first row of c ends up: asked for while a tile computes; result_row bytes to the next row
  std::int64_t result_row;
  bool add;
  bool same_b;                           // the call before had the same k and columns of b
  const typename Arithmetic::Sum* bias;  // of these columns, or null: for tiles that round
  Ahead* ahead;
};

// Tiles come in several heights, so that a remainder of rows wastes nothing, and one or two vectors wide.
inline constexpr std::array<int, 5> heights_32_registers = {14, 8, 4, 2, 1};
inline constexpr std::array<int, 5> heights_16_registers = {6, 4, 3, 2, 1};

template <int Bytes>
constexpr const std::array<int, 5>& tile_heights() {
#if defined(__x86_64__)
  return Bytes < 64 ? heights_16_registers : heights_32_registers;
#else
  return heights_32_registers;
#endif
}

template <class Vector>
[[gnu::always_inline]] inline void multiply_add(Vector& sum, const Vector& a, const Vector& b) {
#if defined(__clang__)
#pragma clang fp contract(fast)
#endif
  sum = a * b + sum;
}

#if defined(__x86_64__)
// Two products a lane, the second element of the pair first, each rounded to nearest even; subnormals count as zero.
[[gnu::target("avx512f")]] inline void multiply_add(vector_t<float, 16>& sum, const vector_t<std::int32_t, 16>& a,
                                                    const vector_t<std::int32_t, 16>& b) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
}
#endif

// The products of bfloat16 made by the processor's instructions flush subnormal numbers.
template <class Arithmetic>
inline constexpr bool flushes = std::same_as<typename Arithmetic::Element, bfloat16>;

// C: what is stored. If that is not a sum, a bias is added and the sums are rounded to where the result lies, and nothing is added.
template <class Arithmetic, std::size_t Height, std::size_t Vectors, class C>
struct TileKernel {
  const TileJob<Arithmetic>& job;

  template <int Bytes>
  [[gnu::always_inline]] void operator()(std::integral_constant<int, Bytes>) const {
    if constexpr (std::same_as<Arithmetic, Bf16Arithmetic> && Bytes != 64)
      return;
    else
      run<Bytes>();
  }

  template <int Bytes>
  [[gnu::always_inline]] void run() const {
    using Unit = typename Arithmetic::Unit;
    using Sum = typename Arithmetic::Sum;
    constexpr int W = Bytes / int{sizeof(Sum)};
    constexpr std::size_t R = tile_heights<Bytes>()[Height], V = Vectors;
    using Sums = vector_t<Sum, W>;
    using Units = vector_t<Unit, W>;
    constexpr bool looks_ahead = Height == 0 && V == 2;  // the tile that computes nearly everything
    const std::int64_t a_row = job.a_row, a_step = job.a_step, b_step = job.b_step, c_row = job.c_row, result_row = job.result_row;
    // Two addresses and half as many distances reach all rows of a: more would be kept in registers of vectors, and the instructions
    // that fetch them from there cost as much as multiplications.
    constexpr std::size_t Half = (R + 1) / 2;
    std::int64_t distance[Half];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Half; ++i) {
      distance[i] = static_cast<std::int64_t>(i) * a_row;
      asm("" : "+r"(distance[i]));
    }
    const std::byte *first = job.a, *result = job.result;
    Sum* c = job.c;
    for (std::int64_t tiles = job.tiles; tiles > 0; --tiles, first += job.a_tile, result += static_cast<std::int64_t>(R) * result_row) {
      Sums sum[R][V] = {};
      const std::byte *a = first, *later = a + static_cast<std::int64_t>(Half) * a_row, *b = job.b;
      asm("" : "+r"(later));
      const auto step = [&]() __attribute__((always_inline)) {
        Units row[V];
#pragma GCC unroll 2
        for (std::size_t v = 0; v < V; ++v) __builtin_memcpy(&row[v], b + v * Bytes, Bytes);
#pragma GCC unroll 16
        for (std::size_t i = 0; i < R; ++i) {
          Unit one;
          __builtin_memcpy(&one, i < Half ? a + (i > 0 ? distance[i] : 0) : later + (i > Half ? distance[i - Half] : 0), sizeof one);
          const Units copies = one - Units{};
#pragma GCC unroll 2
          for (std::size_t v = 0; v < V; ++v) multiply_add(sum[i][v], copies, row[v]);
        }
        // Rows of a that are neighbours lie in a few lines for each step of k, which all their loads wait for: asked into the first
        // cache four steps before (a factor that addresses have) and into the second some tiles before.
        if constexpr (looks_ahead) {
#pragma GCC unroll 2
          for (std::size_t byte = (R * sizeof(Unit) - 1) % 64; byte < R * sizeof(Unit); byte += 64)
            __builtin_prefetch(a + 4 * a_step + byte, 0, 3);
          __builtin_prefetch(a + 512, 0, 2);
        }
        a += a_step;
        later += a_step;
        b += b_step;
        asm("" : "+r"(a), "+r"(later), "+r"(b));
      };
      std::int64_t p = job.k;
      const auto walk = [&](auto cache, LineWalk lines) __attribute__((always_inline)) {
        p -= 4 * lines.count;
        for (; lines.count > 0; --lines.count) {
          lines.one(cache);
#pragma GCC unroll 4
          for (int q = 0; q < 4; ++q) step();
        }
      };
      if constexpr (looks_ahead) {
        walk(first_cache, {result, result_row, (std::min)(std::int64_t{R}, p / 4)});
        while (p >= 4) walk(second_cache, job.ahead->take(p / 4));
      } else {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < R; ++i) __builtin_prefetch(result + static_cast<std::int64_t>(i) * result_row, 1);
      }
#pragma GCC unroll 2
      for (; p > 0; --p) step();
      // In all loops one address that moves, not one for each row.
      if constexpr (!std::same_as<C, Sum>) {
        if (job.bias != nullptr) {
#pragma GCC unroll 2
          for (std::size_t v = 0; v < V; ++v) {
            Sums bias;
            __builtin_memcpy(&bias, job.bias + v * W, Bytes);
#pragma GCC unroll 16
            for (std::size_t i = 0; i < R; ++i) sum[i][v] = sum[i][v] + bias;
          }
        }
        std::byte* to = const_cast<std::byte*>(result);
#pragma GCC unroll 16
        for (std::size_t i = 0; i < R; ++i) {
          store_products<flushes<Arithmetic>>(reinterpret_cast<C*>(to), Pack<Sum, W>(sum[i][0]), Pack<Sum, W>(sum[i][1]));
          to += result_row;
          asm("" : "+r"(to));
        }
        continue;
      }
      if (job.add) {
        const Sum* old = c;
#pragma GCC unroll 16
        for (std::size_t i = 0; i < R; ++i) {
#pragma GCC unroll 2
          for (std::size_t v = 0; v < V; ++v) {
            Sums before;
            __builtin_memcpy(&before, old + v * W, Bytes);
            sum[i][v] = before + sum[i][v];
          }
          old += c_row;
          asm("" : "+r"(old));
        }
      }
#pragma GCC unroll 16
      for (std::size_t i = 0; i < R; ++i) {
#pragma GCC unroll 2
        for (std::size_t v = 0; v < V; ++v) __builtin_memcpy(c + v * W, &sum[i][v], Bytes);
        c += c_row;
        asm("" : "+r"(c));
      }
    }
  }
};

template <class Arithmetic, std::size_t Height, std::size_t Vectors, class C = typename Arithmetic::Sum>
void tile(const TileJob<Arithmetic>& job) {
  dispatch(TileKernel<Arithmetic, Height, Vectors, C>{job});
}

template <class Arithmetic>
using TileFunction = void (*)(const TileJob<Arithmetic>&);

// By height, then by vectors.
template <class Arithmetic>
inline constexpr TileFunction<Arithmetic> tile_functions[5][2] = {{tile<Arithmetic, 0, 1>, tile<Arithmetic, 0, 2>},
                                                                  {tile<Arithmetic, 1, 1>, tile<Arithmetic, 1, 2>},
                                                                  {tile<Arithmetic, 2, 1>, tile<Arithmetic, 2, 2>},
                                                                  {tile<Arithmetic, 3, 1>, tile<Arithmetic, 3, 2>},
                                                                  {tile<Arithmetic, 4, 1>, tile<Arithmetic, 4, 2>}};

}  // namespace detail

}  // namespace minitorch::kernels
