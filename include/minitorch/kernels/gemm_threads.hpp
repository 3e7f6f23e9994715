// A product cut into pieces for the threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <minitorch/core/parallel_for.hpp>
#include <minitorch/kernels/gemm_block.hpp>
#include <minitorch/kernels/gemm_tiling.hpp>

namespace minitorch::kernels {

namespace detail {

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
    const std::int64_t rows = (m + r - 1) / r, columns = ((n + c - 1) / c + tile_width - 1) / tile_width * tile_width;
    const auto cost = static_cast<double>(rows * columns + 4 * (rows + columns));
    if (cost < least) least = cost, best = {r, c};
  }
  return best;
}

template <class Arithmetic>
void multiply(const Problem<Arithmetic>& problem) {
  const auto work = static_cast<double>(problem.batch) * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                    static_cast<double>((std::max<std::int64_t>)(problem.k, 8));
  const auto threads = static_cast<std::int64_t>((std::min)(static_cast<double>(num_threads()), work / Tiling<Arithmetic>::thread_work));
  if (threads <= 1) {
    Multiplier<Arithmetic> multiplier(problem);
    for (std::int64_t b = 0; b < problem.batch; ++b) multiplier.run(b, {0, problem.m}, {0, problem.n});
    return;
  }
  const std::int64_t tile_width = Tiling<Arithmetic>::now().widest();
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
