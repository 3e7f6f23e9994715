// The loops around the tiles: blocks that fit the caches, panels packed when they are first needed.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <minitorch/kernels/gemm_ahead.hpp>
#include <minitorch/kernels/gemm_amx.hpp>
#include <minitorch/kernels/gemm_finish.hpp>
#include <minitorch/kernels/gemm_pack.hpp>
#include <minitorch/kernels/gemm_tiling.hpp>
#include <minitorch/memory/workspace.hpp>

namespace minitorch::kernels {

namespace detail {

// A product with its types erased. Strides are bytes.
template <class Arithmetic>
struct Problem {
  using Sum = typename Arithmetic::Sum;
  std::int64_t batch, m, n, k;
  Side a, b;
  std::int64_t a_batch, b_batch;
  std::byte* c;
  std::int64_t c_row, c_batch, c_element;
  FinishFunction<Sum> finish;
  TileFunction<Arithmetic> round;  // see rounding_function
  bool stores_sums;                // c holds sums as they are
  const Sum* bias;
  bool add;
};

// k is summed in blocks of one length, which depends on k alone, each from zero; the sums of the blocks are added in order. A panel
// of b as deep as a block stays in the first cache; tiles of AMX, which run through it faster, want room there for the rows of a too,
// but up to 1024 that is worth less than never to store sums.
template <class Arithmetic>
constexpr std::int64_t k_block(std::int64_t k) {
  constexpr bool tiles = std::same_as<Arithmetic, AmxArithmetic>;
  const std::int64_t most = tiles ? (k <= 1024 ? 1024 : 512) : 512 * unit_elements<Arithmetic>;
  const std::int64_t blocks = (std::max<std::int64_t>)((k + most - 1) / most, 1);
  return (std::max<std::int64_t>)(((k + blocks - 1) / blocks + 15) / 16 * 16, 16);
}

struct Range {
  std::int64_t first, last;
  std::int64_t size() const { return last - first; }
};

// Computes pieces of one product in one thread.
template <class Arithmetic>
class Multiplier {
  using Sum = typename Arithmetic::Sum;
  using Unit = typename Arithmetic::Unit;
  static constexpr std::int64_t element = sizeof(typename Arithmetic::Element), unit = sizeof(Unit);
  static constexpr std::int64_t per_unit = unit_elements<Arithmetic>;

 public:
  explicit Multiplier(const Problem<Arithmetic>& problem)
      : problem_(problem),
        tiling_(Tiling<Arithmetic>::now()),
        k_block_(k_block<Arithmetic>(problem.k)),
        several_blocks_(problem.k > k_block_),
        in_place_(problem.stores_sums && problem.bias == nullptr && !(problem.add && (several_blocks_ || !Tiling<Arithmetic>::adds))) {}

  // Rows x columns of one matrix of the batch.
  void run(std::int64_t batch, const Range& rows, const Range& columns) {
    batch_ = batch;
    rows_ = rows;
    for (std::int64_t j = columns.first; j < columns.last; j += column_block) {
      columns_ = {j, (std::min)(j + column_block, columns.last)};
      if (in_place_ || !several_blocks_) {
        multiply_columns();
      } else {
        sum_row_ = (columns_.size() + tiling_.widest() - 1) / tiling_.widest() * tiling_.widest() + 16;
        const Workspace<Sum> sums((rows.size() + tiling_.tallest()) * sum_row_);
        sums_ = sums.data();
        multiply_columns();
        finish(sums_, sum_row_, rows_, columns_, problem_.add);
      }
    }
  }

 private:
  static constexpr std::int64_t column_block = 2048, small_block_bytes = 28 << 10;
  static constexpr std::int64_t block_bytes = std::same_as<Arithmetic, AmxArithmetic> ? 640 << 10 : 320 << 10;

  // The current columns for all rows: blocks of k, in each blocks of rows, in each panels of columns, in each tiles of rows.
  void multiply_columns() {
    // Rows that are converted for a few panels are still in the first cache when the tiles read them.
    const bool small = problem_.a.convert != nullptr && problem_.a.along_k() && columns_.size() <= 2 * tiling_.widest();
    const std::int64_t fitting = (small ? small_block_bytes : block_bytes) / (k_block_ * element);
    const std::int64_t row_block = (std::max)(fitting / tiling_.tallest(), std::int64_t{1}) * tiling_.tallest();
    const bool one_row_block = rows_.size() <= row_block;
    const std::int64_t units = tiling_.units(k_block_);
    const bool a_direct = a_can_be_direct(), b_direct = b_can_be_direct(), converts = problem_.a.convert || problem_.b.convert;
    const bool packs_a = !a_direct || !Tiling<Arithmetic>::exact, packs_b = !b_direct || columns_.size() % tiling_.widest() != 0;
    const Workspace<Unit> b_panels(packs_b ? (one_row_block ? tiling_.widest() : columns_.size() + tiling_.widest()) * units + 64 : 0);
    const Workspace<Unit> a_panels(packs_a ? row_block * units + 64 : 0);
    const Workspace<std::byte> room(converts ? room_for_panel<Arithmetic>(tiling_.widest(), k_block_) : 0);
    const std::int64_t a_run = (problem_.a.along_k() ? k_block_ : row_block) * element;
    const Workspace<std::byte> a_block(a_direct && problem_.a.convert ? (problem_.a.along_k() ? row_block : k_block_) * converted_row(a_run)
                                                                      : 0);
    [[maybe_unused]] const typename Tiling<Arithmetic>::Scope scope;
    for (std::int64_t p = 0; p == 0 || p < problem_.k; p += k_block_) {  // once for an empty k: c is written
      depth_ = (std::min)(k_block_, problem_.k - p);
      for (std::int64_t i = rows_.first; i < rows_.last; i += row_block) {
        const Range rows{i, (std::min)(i + row_block, rows_.last)};
        Side a = problem_.a.at(i, p);
        a.data += batch_ * problem_.a_batch;
        if (a_direct && a.convert) a = convert_side<Arithmetic>(a, rows.size(), depth_, a_block.data(), converted_row(a_run));
        if (packs_a) pack_rows(a_panels.data(), a, rows, a_direct, room.data());
        if constexpr (Tiling<Arithmetic>::looks_ahead) look_ahead_to_rows(rows, row_block, p);
        for (std::int64_t j = columns_.first; j < columns_.last; j += tiling_.widest()) {
          const Range columns{j, (std::min)(j + tiling_.widest(), columns_.last)};
          const std::int64_t width = columns.size() <= tiling_.width ? tiling_.width : tiling_.widest();
          Side b = problem_.b.at(j, p);
          b.data += batch_ * problem_.b_batch;
          TileJob<Arithmetic> job{};
          job.ahead = &ahead_;
          job.k = tiling_.units(depth_);
          if (b_direct && columns.size() == width) {
            job.b = b.data;
            job.b_step = b.k_stride;
          } else {
            Unit* panel = b_panels.data() + (one_row_block ? 0 : (j - columns_.first) * units);
            if (i == rows_.first) pack_b<Arithmetic>(panel, width, columns.size(), depth_, b, room.data());
            job.b = reinterpret_cast<const std::byte*>(panel);
            job.b_step = width * unit;
          }
          if constexpr (Tiling<Arithmetic>::looks_ahead) look_ahead_to_columns(rows, columns, p, b_direct);
          multiply_panel(job, rows, columns, width, a, a_panels.data(), a_direct, p > 0);
        }
      }
    }
  }

  // A block of rows times one panel of columns.
  void multiply_panel(TileJob<Arithmetic>& job, const Range& rows, const Range& columns, std::int64_t width, const Side& a,
                      const Unit* a_panels, bool a_direct, bool later) {
    constexpr std::int64_t room = 1024;  // for the sums of a few tiles
    alignas(64) Sum sums[room];
    std::int64_t height = 0;
    for (std::int64_t i = rows.first; i < rows.last; i += height * job.tiles, job.same_b = true) {
      const std::int64_t left = rows.last - i;
      const std::size_t h = tiling_.height_for(left);
      height = tiling_.heights[h];
      const bool from_panels = !a_direct || height > left;
      if (from_panels)
        tiling_.read_packed(job, a_panels + (i - rows.first) * job.k, height);
      else
        tiling_.read(job, a.at(i - rows.first, 0), height);
      job.tiles = (std::max)(left / height, std::int64_t{1});
      job.result = ahead_.idle = c_at(i, columns.first);
      job.result_row = problem_.c_row;
      if (problem_.round != nullptr && job.k > 0 && !several_blocks_ && !problem_.add && columns.size() == tiling_.widest() &&
          height == tiling_.tallest() && height <= left) {
        job.bias = bias_at(columns);
        problem_.round(job);
        continue;
      }
      const auto compute = tiling_.function(h, width > tiling_.width, job.k);
      if (in_place_ && columns.size() == width && height <= left) {
        job.c = reinterpret_cast<Sum*>(c_at(i, columns.first));
        job.c_row = problem_.c_row / std::int64_t{sizeof(Sum)};
        job.add = problem_.add || later;
        compute(job);
      } else if (!in_place_ && several_blocks_) {
        job.c = sums_ + (i - rows_.first) * sum_row_ + (columns.first - columns_.first);
        job.c_row = sum_row_;
        job.result = reinterpret_cast<const std::byte*>(job.c);
        job.result_row = sum_row_ * std::int64_t{sizeof(Sum)};
        job.add = later;
        compute(job);
      } else {
        job.tiles = (std::min)(job.tiles, room / (height * width));
        job.c = sums;
        job.c_row = width;
        job.add = false;
        compute(job);
        finish(sums, width, {i, (std::min)(i + height * job.tiles, rows.last)}, columns, problem_.add || later);
      }
    }
  }

  // What the tiles of these rows ask for: the next rows of a, in the next block of k after the last ones.
  void look_ahead_to_rows(const Range& rows, std::int64_t row_block, std::int64_t p) {
    const bool last = rows.last == rows_.last;
    const std::int64_t next = last ? rows_.first : rows.last;
    ahead_.a = lines_of(problem_.a, problem_.a_batch, {next, (std::min)(next + row_block, rows_.last)}, last ? p + k_block_ : p);
  }

  // The next columns of b, unless their panel is there.
  void look_ahead_to_columns(const Range& rows, const Range& columns, std::int64_t p, bool direct) {
    const bool last = columns.last == columns_.last;
    const std::int64_t next = last ? columns_.first : columns.last;
    const bool packed = !direct && (last ? rows.last < rows_.last : rows.first > rows_.first);
    const Range lanes{next, (std::min)(next + tiling_.widest(), columns_.last)};
    ahead_.b = packed ? Lines() : lines_of(problem_.b, problem_.b_batch, lanes, last ? p + k_block_ : p);
  }

  // The elements of an operand in these lanes, in the block of k that starts at p.
  Lines lines_of(const Side& side, std::int64_t batch_stride, const Range& lanes, std::int64_t p) const {
    if (p >= problem_.k) return {};
    const Side from = side.at(lanes.first, p);
    const std::byte* data = from.data + batch_ * batch_stride;
    const std::int64_t depth = (std::min)(k_block_, problem_.k - p);
    if (from.along_k()) return {data, depth * from.element, lanes.size(), from.lane_stride};
    return {data, lanes.size() * from.element, depth, from.k_stride};
  }

  void finish(const Sum* sums, std::int64_t sum_row, const Range& rows, const Range& columns, bool add) const {
    problem_.finish({sums, sum_row, c_at(rows.first, columns.first), problem_.c_row, rows.size(), columns.size(), bias_at(columns), add});
  }

  const Sum* bias_at(const Range& columns) const { return problem_.bias == nullptr ? nullptr : problem_.bias + columns.first; }

  // Panels of the tallest tiles, then of the heights that make up the rest; with `only_rest`, those alone that reach past the rows.
  void pack_rows(Unit* to, const Side& from, const Range& rows, bool only_rest, std::byte* room) const {
    const std::int64_t units = tiling_.units(depth_);
    std::int64_t height = 0, packed = 0;
    if constexpr (per_unit == 1)
      if (!only_rest && !from.along_k() && from.convert == nullptr) {  // panels whose vectors all lie in the operand
        const std::int64_t tall = tiling_.tallest(), whole = (tall + tiling_.width - 1) / tiling_.width * tiling_.width;
        const std::int64_t panels = (std::min)(rows.size() / tall, (problem_.m - rows.first - whole + tall) / tall);
        if (panels > 0) {
          dispatch(PanelsPacker<Unit>{to, tall, panels, units, from});
          packed = panels * tall;
        }
      }
    for (std::int64_t i = rows.first + packed; i < rows.last; i += height) {
      height = tiling_.heights[tiling_.height_for(rows.last - i)];
      if (only_rest && i + height <= rows.last) continue;
      pack_a<Arithmetic>(to + (i - rows.first) * units, height, (from.convert || !only_rest ? problem_.m : rows.last) - i, depth_,
                         from.at(i - rows.first, 0), room);
    }
  }

  // Reading an operand where it lies pays when few tiles share it, the longer the less its rows evict each other from the cache.
  bool b_can_be_direct() const {
    if (per_unit != 1 || problem_.b.convert || problem_.b.lane_stride != element) return false;
    const bool aliases = problem_.b.k_stride % 4096 == 0;
    return rows_.size() <= 2 * tiling_.tallest() || (!aliases && problem_.n * problem_.k * element <= (512 << 10));
  }

  bool a_can_be_direct() const {
    const Side& a = problem_.a;
    if (per_unit != 1 && (!a.along_k() || tiling_.units(problem_.k) * per_unit != problem_.k)) return false;
    if (a.convert) return true;
    // Each step of k is in a line of its own, of which little is used, or even in a page of its own.
    if (!a.along_k()) {
      if (a.k_stride >= 4096 && k_block_ > 128) return false;
      return columns_.size() <= (rows_.size() * k_block_ * element <= (512 << 10) ? 8 : 4) * tiling_.widest();
    }
    const bool aliases = a.lane_stride % 2048 == 0;
    return columns_.size() <= (aliases ? 8 : 16) * tiling_.widest();
  }

  std::byte* c_at(std::int64_t i, std::int64_t j) const {
    return problem_.c + batch_ * problem_.c_batch + i * problem_.c_row + j * problem_.c_element;
  }

  const Problem<Arithmetic>& problem_;
  const Tiling<Arithmetic> tiling_;
  const std::int64_t k_block_;
  const bool several_blocks_;
  const bool in_place_;                 // sums are built in c itself
  std::int64_t batch_ = 0, depth_ = 0;  // the current matrix and the length of the current block of k
  Range rows_{}, columns_{};
  Sum* sums_ = nullptr;  // where they are built otherwise, when k has several blocks
  std::int64_t sum_row_ = 0;
  Ahead ahead_;
};

}  // namespace detail

}  // namespace minitorch::kernels
