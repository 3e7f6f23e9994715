// The loops around the tiles: blocks that fit the caches, panels packed when they are first needed, pieces for the threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include <minitorch/core/parallel_for.hpp>
#include <minitorch/kernels/gemm_finish.hpp>
#include <minitorch/kernels/gemm_micro.hpp>
#include <minitorch/kernels/gemm_pack.hpp>
#include <minitorch/memory/workspace.hpp>

namespace minitorch::kernels {

namespace detail {

// A product with its types erased. Strides are bytes.
template <class Sum>
struct Problem {
  std::int64_t batch, m, n, k;
  Side a, b;
  std::int64_t a_batch, b_batch;
  std::byte* c;
  std::int64_t c_row, c_batch, c_element;
  FinishFunction<Sum> finish;
  bool stores_sums;  // c holds sums as they are
  const Sum* bias;
  bool add;
};

// k is summed in blocks of one length, which depends on k alone, each from zero; the sums of the blocks are added in order.
template <class Arithmetic>
constexpr std::int64_t k_block(std::int64_t k) {
  constexpr std::int64_t most = 384 * unit_elements<Arithmetic>;
  const std::int64_t blocks = (std::max<std::int64_t>)((k + most - 1) / most, 1);
  return (std::max<std::int64_t>)(((k + blocks - 1) / blocks + 15) / 16 * 16, 16);
}

struct Range {
  std::int64_t first, last;
  std::int64_t size() const { return last - first; }
};

inline int vector_bytes_now() {
  switch (isa()) {
    case Isa::avx512_bf16:
    case Isa::avx512: return 64;
    case Isa::avx2: return 32;
    case Isa::baseline: break;
  }
  return 16;
}

// Heights of the tiles on the path of vectors of that many bytes.
inline std::array<int, tile_heights> tile_heights_of(int bytes) {
  std::array<int, tile_heights> heights{};
  for (int i = 0; i < tile_heights; ++i)
    heights[static_cast<std::size_t>(i)] = bytes == 64 ? tile_height<64>(i) : bytes == 32 ? tile_height<32>(i) : tile_height<16>(i);
  return heights;
}

// Computes pieces of one product in one thread.
template <class Arithmetic>
class Multiplier {
  using Sum = typename Arithmetic::Sum;
  using Unit = typename Arithmetic::Unit;
  static constexpr std::int64_t element = sizeof(typename Arithmetic::Element);
  static constexpr std::int64_t per_unit = unit_elements<Arithmetic>;

 public:
  explicit Multiplier(const Problem<Sum>& problem)
      : problem_(problem),
        width_(vector_bytes_now() / std::int64_t{sizeof(Sum)}),
        heights_(tile_heights_of(vector_bytes_now())),
        k_block_(k_block<Arithmetic>(problem.k)),
        several_blocks_(problem.k > k_block_),
        in_place_(problem.stores_sums && problem.bias == nullptr && !(problem.add && several_blocks_)) {}

  // Rows x columns of one matrix of the batch.
  void run(std::int64_t batch, const Range& rows, const Range& columns) {
    for (std::int64_t j = columns.first; j < columns.last; j += column_block) {
      const Range block{j, (std::min)(j + column_block, columns.last)};
      columns_of_sums_ = (block.size() + 2 * width_ - 1) / (2 * width_) * (2 * width_) + 16;
      std::optional<Workspace<Sum>> sums;
      if (!in_place_ && several_blocks_) sums_ = sums.emplace(rows.size() * columns_of_sums_).data();
      multiply_block(batch, rows, block);
      if (sums)
        problem_.finish(
            {sums_, columns_of_sums_, c_at(batch, rows.first, j), problem_.c_row, rows.size(), block.size(), bias_at(j), problem_.add});
    }
  }

 private:
  static constexpr std::int64_t column_block = 2048;

  void multiply_block(std::int64_t batch, const Range& rows, const Range& columns) {
    const std::int64_t tallest = heights_[0], widest = 2 * width_;
    const std::int64_t row_block = (std::max<std::int64_t>)(1, (320 << 10) / (k_block_ * element) / tallest) * tallest;
    const bool one_row_block = rows.size() <= row_block;
    const bool direct_b = can_use_b_directly(rows.size());
    const bool direct_a = can_use_a_directly(columns.size());
    const std::int64_t units = k_block_ / per_unit;
    Workspace<Unit> b_panels((one_row_block ? widest : columns.size() + widest) * units + 64);
    Workspace<Unit> a_panels(direct_a ? 0 : row_block * units + 64);
    const bool converts = problem_.a.convert != nullptr || problem_.b.convert != nullptr;
    Workspace<std::byte> room(converts ? room_for_panel<Arithmetic>(widest, k_block_) : 0);
    Workspace<std::byte> a_block(direct_a && problem_.a.convert != nullptr ? row_block * converted_row(k_block_ * element) : 0);
    alignas(64) Sum tile[14 * 32];
    for (std::int64_t p = 0; p == 0 || p < problem_.k; p += k_block_) {  // once for an empty k: c is written
      const std::int64_t depth = (std::min)(k_block_, problem_.k - p);
      for (std::int64_t i = rows.first; i < rows.last; i += row_block) {
        const Range block{i, (std::min)(i + row_block, rows.last)};
        Side a = problem_.a.at(i, p);
        a.data += batch * problem_.a_batch;
        if (direct_a) {
          if (a.convert != nullptr) a = convert_side<Arithmetic>(a, block.size(), depth, a_block.data(), converted_row(depth * element));
        } else {
          pack_rows(a_panels.data(), a, block.size(), problem_.m - i, depth, room.data());
        }
        for (std::int64_t j = columns.first; j < columns.last; j += widest) {
          const std::int64_t here = (std::min)(widest, columns.last - j);
          const std::int64_t panel_width = here <= width_ ? width_ : widest;
          TileJob<Arithmetic> job;
          job.k = (depth + per_unit - 1) / per_unit;
          Side b = problem_.b.at(j, p);
          b.data += batch * problem_.b_batch;
          if (direct_b && here == panel_width) {
            job.b = b.data;
            job.b_step = b.k_stride;
          } else {
            Unit* panel = b_panels.data() + (one_row_block ? 0 : (j - columns.first) * units);
            if (i == rows.first) pack_panel<Arithmetic>(panel, panel_width, here, depth, b, room.data());
            job.b = reinterpret_cast<const std::byte*>(panel);
            job.b_step = panel_width * std::int64_t{sizeof(Unit)};
          }
          const std::byte* a_panel = reinterpret_cast<const std::byte*>(a_panels.data());
          for (std::int64_t r = 0; r < block.size();) {
            std::size_t height_index = 0;
            while (heights_[height_index] > block.size() - r) ++height_index;
            const std::int64_t height = heights_[height_index];
            if (direct_a) {
              job.a = a.data + r * a.lane_stride;
              job.a_row = a.lane_stride;
              job.a_step = a.k_stride * per_unit;
            } else {
              job.a = a_panel + r * job.k * std::int64_t{sizeof(Unit)};
              job.a_row = sizeof(Unit);
              job.a_step = height * std::int64_t{sizeof(Unit)};
            }
            run_tile(job, height_index, panel_width > width_, batch, {i + r, i + r + height}, {j, j + here}, rows.first, columns.first,
                     p > 0, tile);
            r += height;
          }
        }
      }
    }
  }

  void run_tile(TileJob<Arithmetic>& job, std::size_t height_index, bool wide, std::int64_t batch, const Range& rows, const Range& columns,
                std::int64_t first_row, std::int64_t first_column, bool later, Sum* tile) {
    const TileFunction<Arithmetic> compute = tile_functions<Arithmetic>[height_index][wide ? 1 : 0];
    const std::int64_t panel_width = wide ? 2 * width_ : width_;
    if (in_place_ && columns.size() == panel_width) {
      job.c = reinterpret_cast<Sum*>(c_at(batch, rows.first, columns.first));
      job.c_row = problem_.c_row / std::int64_t{sizeof(Sum)};
      job.add = problem_.add || later;
      return compute(job);
    }
    if (!in_place_ && several_blocks_) {
      job.c = sums_ + (rows.first - first_row) * columns_of_sums_ + (columns.first - first_column);
      job.c_row = columns_of_sums_;
      job.add = later;
      return compute(job);
    }
    job.c = tile;
    job.c_row = panel_width;
    job.add = false;
    compute(job);
    problem_.finish({tile, panel_width, c_at(batch, rows.first, columns.first), problem_.c_row, rows.size(), columns.size(),
                     bias_at(columns.first), problem_.add || later});
  }

  // Panels of the tallest tiles, then of the heights that make up the rest.
  void pack_rows(Unit* to, const Side& from, std::int64_t rows, std::int64_t available, std::int64_t depth, std::byte* room) const {
    const std::int64_t units = (depth + per_unit - 1) / per_unit;
    for (std::int64_t r = 0; r < rows;) {
      std::size_t h = 0;
      while (heights_[h] > rows - r) ++h;
      pack_panel<Arithmetic>(to + r * units, heights_[h], available - r, depth, from.at(r, 0), room);
      r += heights_[h];
    }
  }

  // Reading b where it lies pays when few tiles share it.
  bool can_use_b_directly(std::int64_t rows) const {
    if (per_unit != 1 || problem_.b.convert != nullptr || problem_.b.lane_stride != element) return false;
    const bool aliases = problem_.b.k_stride % 4096 == 0;
    return rows <= 2 * heights_[0] || (!aliases && problem_.n * problem_.k * element <= (64 << 10));
  }

  bool can_use_a_directly(std::int64_t columns) const {
    const Side& a = problem_.a;
    if (per_unit != 1 && (!a.along_k() || problem_.k % per_unit != 0)) return false;
    if (a.convert != nullptr) return a.along_k();
    return columns <= 4 * width_ && (a.along_k() ? a.lane_stride : a.k_stride) % 2048 != 0;
  }

  std::byte* c_at(std::int64_t batch, std::int64_t i, std::int64_t j) const {
    return problem_.c + batch * problem_.c_batch + i * problem_.c_row + j * problem_.c_element;
  }
  const Sum* bias_at(std::int64_t j) const { return problem_.bias == nullptr ? nullptr : problem_.bias + j; }

  const Problem<Sum>& problem_;
  std::int64_t width_;  // numbers in a vector
  std::array<int, tile_heights> heights_;
  std::int64_t k_block_;
  bool several_blocks_;
  bool in_place_;  // sums are built in c itself
  Sum* sums_ = nullptr;
  std::int64_t columns_of_sums_ = 0;
};

// How m x n is cut for the threads: into equal parts, each as cheap to prepare as possible.
struct Grid {
  std::int64_t rows, columns;
};

inline Grid thread_grid(std::int64_t parts, std::int64_t m, std::int64_t n, std::int64_t tile_width) {
  Grid best{parts, 1};
  double least = 1e300;
  for (std::int64_t r = 1; r <= parts; ++r) {
    if (parts % r != 0) continue;
    const std::int64_t c = parts / r;
    const auto rows = static_cast<double>((m + r - 1) / r);
    const auto columns = static_cast<double>(((n + c - 1) / c + tile_width - 1) / tile_width * tile_width);
    const double cost = rows * columns + 4 * (rows + columns);
    if (cost < least) least = cost, best = {r, c};
  }
  return best;
}

template <class Arithmetic>
void multiply(const Problem<typename Arithmetic::Sum>& problem) {
  const auto work = static_cast<double>(problem.batch) * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                    static_cast<double>((std::max<std::int64_t>)(problem.k, 8));
  const auto threads = static_cast<std::int64_t>((std::min)(static_cast<double>(num_threads()), work / 500e3));
  if (threads <= 1) {
    Multiplier<Arithmetic> multiplier(problem);
    for (std::int64_t b = 0; b < problem.batch; ++b) multiplier.run(b, {0, problem.m}, {0, problem.n});
    return;
  }
  const std::int64_t tile_width = 2 * vector_bytes_now() / std::int64_t{sizeof(typename Arithmetic::Sum)};
  const Grid grid =
      problem.batch >= 4 * threads ? Grid{1, 1} : thread_grid(threads / std::gcd(problem.batch, threads), problem.m, problem.n, tile_width);
  const std::int64_t parts = grid.rows * grid.columns, tiles = (problem.n + tile_width - 1) / tile_width;
  parallel_for(problem.batch * parts, 1, [&](std::int64_t first, std::int64_t last) {
    Multiplier<Arithmetic> multiplier(problem);
    for (std::int64_t piece = first; piece < last; ++piece) {
      const std::int64_t r = piece % parts / grid.columns, c = piece % grid.columns;
      const Range rows{problem.m * r / grid.rows, problem.m * (r + 1) / grid.rows};
      const Range columns{tiles * c / grid.columns * tile_width, (std::min)(tiles * (c + 1) / grid.columns * tile_width, problem.n)};
      if (rows.size() > 0 && columns.size() > 0) multiplier.run(piece / parts, rows, columns);
    }
  });
}

}  // namespace detail

}  // namespace minitorch::kernels
