// The shapes of tiles and panels on the current path, and how each kind of tile reads the rows of a.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <minitorch/kernels/gemm_amx.hpp>
#include <minitorch/kernels/gemm_micro.hpp>
#include <minitorch/kernels/gemm_pack.hpp>
#include <minitorch/kernels/isa.hpp>

namespace minitorch::kernels {

namespace detail {

inline int vector_bytes_now() {
  switch (isa()) {
    case Isa::amx_bf16:
    case Isa::avx512_bf16:
    case Isa::avx512: return 64;
    case Isa::avx2: return 32;
    case Isa::baseline: break;
  }
  return 16;
}

template <class Arithmetic>
struct Tiling {
  static constexpr bool exact = true;  // heights make up any number of rows
  static constexpr bool adds = true;   // a tile can add its sums to what c holds
  static constexpr bool looks_ahead = true;
  static constexpr double thread_work = 500e3;
  struct Scope {};

  std::int64_t width;  // of the narrow panels; the wide ones have two vectors
  std::array<int, 5> heights;

  static Tiling now() {
    const int bytes = vector_bytes_now();
    return {bytes / std::int64_t{sizeof(typename Arithmetic::Sum)}, bytes == 64   ? tile_heights<64>()
                                                                    : bytes == 32 ? tile_heights<32>()
                                                                                  : tile_heights<16>()};
  }

  std::int64_t widest() const { return 2 * width; }
  std::int64_t tallest() const { return heights[0]; }
  std::size_t height_for(std::int64_t rows) const {
    std::size_t h = 0;
    while (heights[h] > rows) ++h;
    return h;
  }
  std::int64_t units(std::int64_t k) const { return (k + unit_elements<Arithmetic> - 1) / unit_elements<Arithmetic>; }
  static TileFunction<Arithmetic> function(std::size_t h, bool wide, std::int64_t /*units*/) {
    return tile_functions<Arithmetic>[h][wide ? 1 : 0];
  }

  void read(TileJob<Arithmetic>& job, const Side& a, std::int64_t height) const {
    job.a = a.data;
    job.a_row = a.lane_stride;
    job.a_step = a.k_stride * unit_elements<Arithmetic>;
    job.a_tile = height * a.lane_stride;
  }
  void read_packed(TileJob<Arithmetic>& job, const typename Arithmetic::Unit* a, std::int64_t height) const {
    job.a = reinterpret_cast<const std::byte*>(a);
    job.a_row = sizeof(*a);
    job.a_step = height * job.a_row;
    job.a_tile = job.k * job.a_step;
  }
};

template <class Arithmetic>
void pack_a(typename Arithmetic::Unit* to, std::int64_t height, std::int64_t rows, std::int64_t k, const Side& from, std::byte* room) {
  pack_panel<Arithmetic>(to, height, rows, k, from, room);
}
template <class Arithmetic>
void pack_b(typename Arithmetic::Unit* to, std::int64_t width, std::int64_t columns, std::int64_t k, const Side& from, std::byte* room) {
  pack_panel<Arithmetic>(to, width, columns, k, from, room);
}

#if defined(__x86_64__)
template <>
struct Tiling<AmxArithmetic> {
  static constexpr bool exact = false, adds = false, looks_ahead = false;
  static constexpr double thread_work = 4e6;
  using Scope = AmxConfiguration;

  std::int64_t width = 16;
  std::array<int, 2> heights = {32, 16};

  static Tiling now() { return {}; }
  std::int64_t widest() const { return 32; }
  std::int64_t tallest() const { return 32; }
  std::size_t height_for(std::int64_t rows) const { return rows >= 32 ? 0 : 1; }
  std::int64_t units(std::int64_t k) const { return (k + 31) / 32 * 16; }
  static bool is_short(std::int64_t units) { return units > 0 && units <= 32; }
  static TileFunction<AmxArithmetic> function(std::size_t h, bool wide, std::int64_t units) {
    return (is_short(units) ? amx_tile_functions<AmxShortTiles> : amx_tile_functions<AmxTiles>)[h][wide ? 1 : 0];
  }

  void read(TileJob<AmxArithmetic>& job, const Side& a, std::int64_t height) const {
    job.a = a.data;
    job.a_row = a.lane_stride;
    job.a_step = 64;
    job.a_tile = height * a.lane_stride;
  }
  void read_packed(TileJob<AmxArithmetic>& job, const std::int32_t* a, std::int64_t height) const {
    job.a = reinterpret_cast<const std::byte*>(a);
    job.a_row = 64;
    job.a_step = height * 64;
    job.a_tile = job.k / 16 * job.a_step;
  }
};

template <>
inline void pack_a<AmxArithmetic>(std::int32_t* to, std::int64_t height, std::int64_t rows, std::int64_t k, const Side& from,
                                  std::byte* room) {
  const Side bf16 = converted_panel<AmxArithmetic>(from, height, rows, k, room);
  dispatch(AmxRowPacker{to, height, rows, k, bf16});
}
template <>
inline void pack_b<AmxArithmetic>(std::int32_t* to, std::int64_t width, std::int64_t columns, std::int64_t k, const Side& from,
                                  std::byte* room) {
  pack_panel<AmxArithmetic>(to, width, columns, k, from, room);
  const std::int64_t units = (k + 1) / 2, padded = (k + 31) / 32 * 16;
  std::memset(to + units * width, 0, static_cast<std::size_t>((padded - units) * width) * sizeof(*to));
}
#endif

// Tiles of the tallest and widest kind that add a bias to their sums and round them to C; null where C holds sums.
template <class Arithmetic, class C>
TileFunction<Arithmetic> rounding_function(std::int64_t k) {
  if constexpr (std::same_as<C, typename Arithmetic::Sum>) return nullptr;
#if defined(__x86_64__)
  else if constexpr (std::same_as<Arithmetic, AmxArithmetic>)
    return Tiling<AmxArithmetic>::is_short(Tiling<AmxArithmetic>::now().units(k)) ? amx_tiles<AmxShortTiles, 2, 2, true>
                                                                                  : amx_tiles<AmxTiles, 2, 2, true>;
#endif
  else
    return tile<Arithmetic, 0, 2, C>;
}

}  // namespace detail

}  // namespace minitorch::kernels
