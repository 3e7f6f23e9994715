// The innermost part of a product: a tile of c, held in registers, that takes a column of a times a row of b per step of k.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <minitorch/kernels/dispatch.hpp>
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

// c = a b, or c += a b, over k units: unit (i, p) of a is at a + i * a_row + p * a_step, row p of b at b + p * b_step (bytes).
template <class Arithmetic>
struct TileJob {
  std::int64_t k;
  const std::byte* a;
  std::int64_t a_row, a_step;
  const std::byte* b;
  std::int64_t b_step;
  typename Arithmetic::Sum* c;
  std::int64_t c_row;
  bool add;
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

template <int W, class T>
[[gnu::always_inline]] inline void multiply_add(Pack<T, W>& sum, const Pack<T, W>& a, const Pack<T, W>& b) {
  sum = fma(a, b, sum);
}

#if defined(__x86_64__)
// Two products a lane, the second element of the pair first, each rounded to nearest even; subnormals count as zero.
[[gnu::target("avx512f")]] inline void multiply_add(Pack<float, 16>& sum, const Pack<std::int32_t, 16>& a,
                                                    const Pack<std::int32_t, 16>& b) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum.v) : "v"(a.v), "v"(b.v));
}
#endif

template <class Arithmetic, std::size_t Height, std::size_t Vectors>
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
    Pack<Sum, W> sum[R][V];
    const std::byte *a = job.a, *b = job.b;
    const std::int64_t a_row = job.a_row;
    for (std::int64_t p = job.k; p > 0; --p) {
      Pack<Unit, W> row[V];
#pragma GCC unroll 2
      for (std::size_t v = 0; v < V; ++v) row[v] = load_raw<W, Unit>(b + v * Bytes);
#pragma GCC unroll 16
      for (std::size_t i = 0; i < R; ++i) {
        Unit one;
        __builtin_memcpy(&one, a + static_cast<std::int64_t>(i) * a_row, sizeof one);
        const Pack<Unit, W> copies(one);
#pragma GCC unroll 2
        for (std::size_t v = 0; v < V; ++v) multiply_add(sum[i][v], copies, row[v]);
      }
      a += job.a_step;
      b += job.b_step;
    }
    Sum* c = job.c;
    if (job.add) {
#pragma GCC unroll 16
      for (std::size_t i = 0; i < R; ++i)
#pragma GCC unroll 2
        for (std::size_t v = 0; v < V; ++v) {
          Sum* to = c + static_cast<std::int64_t>(i) * job.c_row + v * W;
          store_raw(to, load_raw<W, Sum>(to) + sum[i][v]);
        }
    } else {
#pragma GCC unroll 16
      for (std::size_t i = 0; i < R; ++i)
#pragma GCC unroll 2
        for (std::size_t v = 0; v < V; ++v) store_raw(c + static_cast<std::int64_t>(i) * job.c_row + v * W, sum[i][v]);
    }
  }
};

template <class Arithmetic, std::size_t Height, std::size_t Vectors>
void tile(const TileJob<Arithmetic>& job) {
  dispatch(TileKernel<Arithmetic, Height, Vectors>{job});
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
