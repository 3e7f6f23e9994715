// Products of bfloat16 by AMX: 32 x 32 sums in four tile registers, 32 steps of k an instruction.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <minitorch/core/scalar.hpp>
#include <minitorch/kernels/gemm_micro.hpp>
#include <minitorch/kernels/gemm_pack.hpp>

namespace minitorch::kernels {

namespace detail {

// Sums are float: the products with even k and those with odd k of 32 steps are summed apart, then added to the tile. Subnormal
// operands and results count as zero. Units past the end of k are zeros.
struct AmxArithmetic {
  using Element = bfloat16;
  using Unit = std::int32_t;
  using Sum = float;
};

#if defined(__x86_64__)

// Tiles of 16 rows x 64 bytes while it lives. Nobody's tiles survive a call, so there is nothing to restore.
class AmxTiles {
 public:
  AmxTiles() {
    struct alignas(64) Configuration {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    const Configuration configuration;
    asm volatile("ldtilecfg %0" : : "m"(configuration));
  }
  ~AmxTiles() { asm volatile("tilerelease"); }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
};

template <int Tile>
[[gnu::always_inline]] inline void amx_zero() {
  asm volatile("tilezero %%tmm%c0" : : "i"(Tile));
}
template <int Tile>
[[gnu::always_inline]] inline void amx_load(const void* from, std::int64_t row) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(Tile), "r"(from), "r"(row) : "memory");
}
// The same for what is read once while something else shall stay in the first cache.
template <int Tile>
[[gnu::always_inline]] inline void amx_load_passing(const void* from, std::int64_t row) {
  asm volatile("tileloaddt1 (%1,%2,1), %%tmm%c0" : : "i"(Tile), "r"(from), "r"(row) : "memory");
}
template <int Tile>
[[gnu::always_inline]] inline void amx_store(void* to, std::int64_t row) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(Tile), "r"(to), "r"(row) : "memory");
}
template <int Sum, int A, int B>
[[gnu::always_inline]] inline void amx_dot() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sum), "i"(A), "i"(B));
}

// As the other tiles, but `add` continues the sums that lie in c; k counts units, a whole number of 16.
// Tiles 0..3 are sums, 4 and 5 rows of a, 6 and 7 columns of b.
template <int Rows, int Columns>
void amx_tiles(const TileJob<AmxArithmetic>& job) {
  const std::int64_t c_row = job.c_row * std::int64_t{sizeof(float)};
  const bool c_is_far = reinterpret_cast<const std::byte*>(job.c) == job.result;
  const std::byte* first = job.a;
  float* c0 = job.c;
  for (std::int64_t tiles = job.tiles; tiles > 0; --tiles, first += job.a_tile, c0 += 16 * Rows * job.c_row) {
    if (c_is_far)
      for (std::int64_t i = 0; i < 16 * Rows; ++i)
        for (std::int64_t j = 0; j < 16 * Columns; j += 16) __builtin_prefetch(c0 + i * job.c_row + j, 1);
    float* c1 = c0 + 16 * job.c_row;
    if (job.add) {
      amx_load<0>(c0, c_row);
      if constexpr (Columns == 2) amx_load<1>(c0 + 16, c_row);
      if constexpr (Rows == 2) amx_load<2>(c1, c_row);
      if constexpr (Rows == 2 && Columns == 2) amx_load<3>(c1 + 16, c_row);
    } else {
      amx_zero<0>();
      if constexpr (Columns == 2) amx_zero<1>();
      if constexpr (Rows == 2) amx_zero<2>();
      if constexpr (Rows == 2 && Columns == 2) amx_zero<3>();
    }
    const std::byte *a = first, *b = job.b;
    for (std::int64_t p = job.k; p > 0; p -= 16) {
      for (LineWalk walk = job.ahead->take(2); walk.count > 0; --walk.count) walk.one(second_cache);
      amx_load<6>(b, job.b_step);
      amx_load_passing<4>(a, job.a_row);
      amx_dot<0, 4, 6>();
      if constexpr (Columns == 2) {
        amx_load<7>(b + 64, job.b_step);
        amx_dot<1, 4, 7>();
      }
      if constexpr (Rows == 2) {
        amx_load_passing<5>(a + 16 * job.a_row, job.a_row);
        amx_dot<2, 5, 6>();
        if constexpr (Columns == 2) amx_dot<3, 5, 7>();
      }
      a += job.a_step;
      b += 16 * job.b_step;
    }
    amx_store<0>(c0, c_row);
    if constexpr (Columns == 2) amx_store<1>(c0 + 16, c_row);
    if constexpr (Rows == 2) amx_store<2>(c1, c_row);
    if constexpr (Rows == 2 && Columns == 2) amx_store<3>(c1 + 16, c_row);
  }
}

// By rows (32, 16), then by columns (16, 32).
template <>
inline constexpr TileFunction<AmxArithmetic> tile_functions<AmxArithmetic>[2][2] = {{amx_tiles<2, 1>, amx_tiles<2, 2>},
                                                                                    {amx_tiles<1, 1>, amx_tiles<1, 2>}};

// The rows of a for a tile of `height` rows: for each 16 units of k, the 64 bytes of each row, one after the other.
struct AmxRowPacker {
  std::int32_t* to;
  std::int64_t height, rows, k;
  Side from;

  template <int Bytes>
  [[gnu::always_inline]] void operator()(std::integral_constant<int, Bytes>) const {
    if constexpr (Bytes == 64) {
      if (from.along_k())
        copy();
      else
        transpose_pairs();
    }
  }

  [[gnu::always_inline]] void copy() const {
    std::byte* out = reinterpret_cast<std::byte*>(to);
    for (std::int64_t p = 0; p < k; p += 32)
      for (std::int64_t i = 0; i < height; ++i, out += 64) {
        const std::byte* in = from.data + i * from.lane_stride + p * from.k_stride;
        Pack<std::int32_t, 16> row;
        if (i < rows && p + 32 <= k)
          row = load_raw<16, std::int32_t>(in);
        else if (i < rows)
          std::memcpy(&row.v, in, static_cast<std::size_t>((k - p) * 2));
        store_raw(out, row);
      }
  }

  [[gnu::always_inline]] void transpose_pairs() const {
    using Pairs = PanelPacker<AmxArithmetic>;
    std::int32_t* out = to;
    for (std::int64_t p = 0; p < k; p += 32) {
      const std::byte* corner = from.data + p * from.k_stride;
      alignas(64) std::int32_t pairs[16][32];  // of two neighbours in k, for all lanes
      if (p + 32 <= k && rows >= 32 && height == 32) {
        for (std::int64_t q = 0; q < 16; ++q, corner += 2 * from.k_stride) Pairs::zip<16>(pairs[q], corner, corner + from.k_stride);
      } else {
        std::memset(pairs, 0, sizeof pairs);
        for (std::int64_t q = 0; p + 2 * q < k && q < 16; ++q, corner += 2 * from.k_stride)
          for (std::int64_t i = 0; i < height && i < rows; i += 16) {
            const std::byte* next = p + 2 * q + 1 < k ? corner + from.k_stride + i * from.lane_stride : nullptr;
            store_raw(pairs[q] + i, Pairs::part_of_row<16>(corner + i * from.lane_stride, next, rows - i < 16 ? rows - i : 16));
          }
      }
      for (std::int64_t i = 0; i < height; i += 16, out += 256) {
        store_transposed<std::int32_t, 16>(out, 16, reinterpret_cast<const std::byte*>(pairs[0] + i), sizeof pairs[0]);
      }
    }
  }
};

#endif

}  // namespace detail

}  // namespace minitorch::kernels
