// Products of bfloat16 by AMX: 32 x 32 sums in four tile registers, 32 steps of k an instruction.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <minitorch/core/scalar.hpp>
#include <minitorch/kernels/dispatch.hpp>
#include <minitorch/kernels/gemm_finish.hpp>
#include <minitorch/kernels/gemm_micro.hpp>
#include <minitorch/kernels/gemm_narrow.hpp>
#include <minitorch/kernels/gemm_pack.hpp>
#include <minitorch/kernels/load_store.hpp>

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
class AmxConfiguration {
 public:
  AmxConfiguration() {
    struct alignas(64) Configuration {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    const Configuration configuration;
    asm volatile("ldtilecfg %0" : : "m"(configuration));
  }
  ~AmxConfiguration() { asm volatile("tilerelease"); }
  AmxConfiguration(const AmxConfiguration&) = delete;
  AmxConfiguration& operator=(const AmxConfiguration&) = delete;
};

template <int Tile>
[[gnu::always_inline]] inline void amx_zero() {
  asm volatile("tilezero %%tmm%c0" : : "i"(Tile));
}
// In spells in which tiles are slow (another tenant of the core is suspected), products whose loads are a few instructions apart reach
// 1.3 times the rate of others; in quick spells that costs nothing.
template <int Tile>
[[gnu::always_inline]] inline void amx_load(const void* from, std::int64_t row) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0\n\tnop\n\tnop\n\tnop\n\tnop" : : "i"(Tile), "r"(from), "r"(row) : "memory");
}
// The same for what is read once while something else shall stay in the first cache.
template <int Tile>
[[gnu::always_inline]] inline void amx_load_passing(const void* from, std::int64_t row) {
  asm volatile("tileloaddt1 (%1,%2,1), %%tmm%c0\n\tnop\n\tnop\n\tnop\n\tnop" : : "i"(Tile), "r"(from), "r"(row) : "memory");
}
template <int Tile>
[[gnu::always_inline]] inline void amx_store(void* to, std::int64_t row) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(Tile), "r"(to), "r"(row) : "memory");
}
template <int Sum, int A, int B>
[[gnu::always_inline]] inline void amx_dot() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sum), "i"(A), "i"(B));
}

// Asks for a tile of sums that will be written.
template <int Rows, int Columns>
[[gnu::always_inline]] inline void ask_for_sums(const float* c, std::int64_t c_row) {
  for (std::int64_t i = 0; i < 16 * Rows; ++i, c += c_row)
    for (std::int64_t j = 0; j < 16 * Columns; j += 16) __builtin_prefetch(c + j, 1);
}

// Where tiles put their sums: in c, as it is.
template <int Rows, int Columns, bool Rounds>
class AmxSums {
 public:
  struct Buffer {};

  [[gnu::always_inline]] AmxSums(const TileJob<AmxArithmetic>& job, Buffer&)
      : c_(job.c), row_(job.c_row), far_(reinterpret_cast<const std::byte*>(job.c) == job.result) {}

  [[gnu::always_inline]] std::int64_t row() const { return row_; }
  [[gnu::always_inline]] float* next_tile() {
    if (far_) ask_for_sums<Rows, Columns>(c_, row_);
    return std::exchange(c_, c_ + 16 * Rows * row_);
  }
  [[gnu::always_inline]] void round(std::int64_t) {}

 private:
  float* c_;
  std::int64_t row_;
  bool far_;
};

// Or in a buffer, of which some rows at a time are rounded to bfloat16 while the next tile is computed. (The buffer lies apart: what
// shares an object with it would be thought to change with every tile.)
template <>
class AmxSums<2, 2, true> {
 public:
  struct alignas(64) Buffer {
    float tiles[2][32 * 32];
  };

  [[gnu::always_inline]] AmxSums(const TileJob<AmxArithmetic>& job, Buffer& buffer)
      : next_(buffer.tiles[0]),
        last_(buffer.tiles[1]),
        to_(const_cast<std::byte*>(job.result)),
        to_row_(job.result_row),
        low_bias_(-0.0F),
        high_bias_(-0.0F) {
    if (job.bias == nullptr) return;
    low_bias_ = load<Pack<float, 16>>(job.bias);
    high_bias_ = load<Pack<float, 16>>(job.bias + 16);
  }
  [[gnu::always_inline]] ~AmxSums() {
    next_tile();
    round(32);
  }
  AmxSums(const AmxSums&) = delete;
  AmxSums& operator=(const AmxSums&) = delete;

  [[gnu::always_inline]] static constexpr std::int64_t row() { return 32; }
  [[gnu::always_inline]] float* next_tile() {
    std::swap(next_, last_);
    left_ = from_ == nullptr ? 0 : 32;
    from_ = next_;
    return last_;
  }
  // So many rows of the tile before.
  [[gnu::always_inline]] void round(std::int64_t rows) {
    rows = (std::min)(rows, left_);
    left_ -= rows;
    for (; rows > 0; --rows, from_ += 32, to_ += to_row_)
      store_products<true>(reinterpret_cast<bfloat16*>(to_), load<Pack<float, 16>>(from_) + low_bias_,
                           load<Pack<float, 16>>(from_ + 16) + high_bias_);
  }

 private:
  float *next_, *last_;
  std::byte* to_;
  std::int64_t to_row_;
  Pack<float, 16> low_bias_, high_bias_;
  const float* from_ = nullptr;
  std::int64_t left_ = 0;
};

// As the other tiles, but `add` continues the sums that lie in c; k counts units, a whole number of 16.
// Tiles 0..3 are sums, 4 and 5 rows of a, 6 and 7 columns of b.
template <int Rows, int Columns, bool Rounds>
struct AmxTiles {
  [[gnu::always_inline]] static void run(const TileJob<AmxArithmetic> j) {
    typename AmxSums<Rows, Columns, Rounds>::Buffer buffer;
    AmxSums<Rows, Columns, Rounds> sums(j, buffer);
    const std::int64_t row = sums.row(), row_bytes = row * std::int64_t{sizeof(float)};
    const std::int64_t rows_a_step = (32 * 16 + j.k - 1) / (std::max)(j.k, std::int64_t{1});
    const std::byte* first = j.a;
    for (std::int64_t tiles = j.tiles; tiles > 0; --tiles, first += j.a_tile) {
      float *c0 = sums.next_tile(), *c1 = c0 + 16 * row;
      if (!Rounds && j.add) {
        amx_load<0>(c0, row_bytes);
        if constexpr (Columns == 2) amx_load<1>(c0 + 16, row_bytes);
        if constexpr (Rows == 2) amx_load<2>(c1, row_bytes);
        if constexpr (Rows == 2 && Columns == 2) amx_load<3>(c1 + 16, row_bytes);
      } else {
        amx_zero<0>();
        if constexpr (Columns == 2) amx_zero<1>();
        if constexpr (Rows == 2) amx_zero<2>();
        if constexpr (Rows == 2 && Columns == 2) amx_zero<3>();
      }
      const std::byte *a0 = first, *a1 = first + 16 * j.a_row, *b = j.b;
      for (std::int64_t p = j.k; p > 0; p -= 16) {
        amx_load<6>(b, j.b_step);
        amx_load_passing<4>(a0, j.a_row);
        if constexpr (Columns == 2) amx_load<7>(b + 64, j.b_step);
        if constexpr (Rows == 2) amx_load_passing<5>(a1, j.a_row);
        amx_dot<0, 4, 6>();
        if constexpr (Columns == 2) amx_dot<1, 4, 7>();
        if constexpr (Rows == 2) amx_dot<2, 5, 6>();
        if constexpr (Rows == 2 && Columns == 2) amx_dot<3, 5, 7>();
        sums.round(rows_a_step);
        a0 += j.a_step;
        a1 += j.a_step;
        b += 16 * j.b_step;
      }
      amx_store<0>(c0, row_bytes);
      if constexpr (Columns == 2) amx_store<1>(c0 + 16, row_bytes);
      if constexpr (Rows == 2) amx_store<2>(c1, row_bytes);
      if constexpr (Rows == 2 && Columns == 2) amx_store<3>(c1 + 16, row_bytes);
    }
  }
};

// The same for a k of one or two steps: the columns of b stay in tiles 4..7 for all rows and all calls with the same b, so that each
// dot product has half as many loads. Tiles 0 and 1 are the sums of 16 rows, 2 and 3 these rows of a.
template <int Rows, int Columns, bool Rounds>
struct AmxShortTiles {
  [[gnu::always_inline]] static void run(const TileJob<AmxArithmetic> j) {
    const bool two_steps = j.k > 16;
    if (!j.same_b) {
      const std::byte* second = j.b + 16 * j.b_step;
      amx_load<4>(j.b, j.b_step);
      if constexpr (Columns == 2) amx_load<5>(j.b + 64, j.b_step);
      if (two_steps) amx_load<6>(second, j.b_step);
      if (Columns == 2 && two_steps) amx_load<7>(second + 64, j.b_step);
    }
    typename AmxSums<Rows, Columns, Rounds>::Buffer buffer;
    AmxSums<Rows, Columns, Rounds> sums(j, buffer);
    const std::int64_t row = sums.row(), row_bytes = row * std::int64_t{sizeof(float)};
    const std::byte* first = j.a;
    for (std::int64_t tiles = j.tiles; tiles > 0; --tiles, first += j.a_tile) {
      const std::byte* a = first;
      float* c = sums.next_tile();
      for (int half = 0; half < Rows; ++half, a += 16 * j.a_row, c += 16 * row) {
        if (!Rounds && j.add) {
          amx_load<0>(c, row_bytes);
          if constexpr (Columns == 2) amx_load<1>(c + 16, row_bytes);
        } else {
          amx_zero<0>();
          if constexpr (Columns == 2) amx_zero<1>();
        }
        amx_load_passing<2>(a, j.a_row);
        if (two_steps) amx_load_passing<3>(a + j.a_step, j.a_row);
        amx_dot<0, 2, 4>();
        if constexpr (Columns == 2) amx_dot<1, 2, 5>();
        if (two_steps) {
          amx_dot<0, 3, 6>();
          if constexpr (Columns == 2) amx_dot<1, 3, 7>();
        }
        amx_store<0>(c, row_bytes);
        if constexpr (Columns == 2) amx_store<1>(c + 16, row_bytes);
        sums.round(16);
      }
    }
  }
};

template <class Tiles>
struct AmxKernel {
  const TileJob<AmxArithmetic>& job;

  template <int Bytes>
  [[gnu::always_inline]] void operator()(std::integral_constant<int, Bytes>) const {
    if constexpr (Bytes == 64) Tiles::run(job);
  }
};

template <template <int, int, bool> class Tiles, int Rows, int Columns, bool Rounds>
void amx_tiles(const TileJob<AmxArithmetic>& job) {
  dispatch(AmxKernel<Tiles<Rows, Columns, Rounds>>{job});
}

// By rows (32, 16), then by columns (16, 32).
template <template <int, int, bool> class Tiles>
inline constexpr TileFunction<AmxArithmetic> amx_tile_functions[2][2] = {{amx_tiles<Tiles, 2, 1, false>, amx_tiles<Tiles, 2, 2, false>},
                                                                         {amx_tiles<Tiles, 1, 1, false>, amx_tiles<Tiles, 1, 2, false>}};

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
    const std::int64_t row = from.lane_stride, whole = rows < height ? rows : height;
    std::int64_t p = 0;
    for (; p + 32 <= k; p += 32) {
      const std::byte* in = from.data + p * from.k_stride;
#pragma GCC unroll 4
      for (std::int64_t left = whole; left > 0; --left, in += row, out += 64) store_raw(out, load_raw<16, std::int32_t>(in));
      for (std::int64_t left = height - whole; left > 0; --left, out += 64) store_raw(out, Pack<std::int32_t, 16>());
    }
    if (p < k) {
      std::memset(out, 0, static_cast<std::size_t>(height * 64));
      for (std::int64_t i = 0; i < whole; ++i)
        std::memcpy(out + i * 64, from.data + i * row + p * from.k_stride, static_cast<std::size_t>((k - p) * 2));
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
