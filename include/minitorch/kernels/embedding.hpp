// Rows of a table by index, and the sum of gradients back into them.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/rows.hpp>
#include <minitorch/memory/workspace.hpp>

namespace minitorch::kernels {

// out[i] = table[index[i]]; table [rows, dim], out [count, dim]. Throws ArgumentError for an index outside of the table.
template <Scalar T, Scalar Out>
void gather_rows(std::int64_t rows, std::int64_t dim, const T* table, std::int64_t count, const std::int64_t* index, Out* out) {
  using C = compute_t<T>;
  for (std::int64_t i = 0; i < count; ++i)
    if (index[i] < 0 || index[i] >= rows)
      fail<ArgumentError>("embedding: an index must be in [0, ", rows, "), got ", index[i], " at position ", i);
  detail::parallel_rows(
      count, dim, [=](auto bytes, std::int64_t first, std::int64_t last) __attribute__((always_inline)) {
        constexpr int W = bytes() / int{sizeof(C)};
        for (std::int64_t i = first; i < last; ++i)
          for (std::int64_t j = 0; j < dim; j += W)
            detail::store_some(out + i * dim + j, detail::load_some<Pack<C, W>>(table + index[i] * dim + j, dim - j), dim - j);
      });
}

// table[index[i]] += dy[i] in the order of i: each row is summed in the computed type and added once, whatever the number of
// threads. Rows of index `skip` receive nothing.
template <Scalar T, Scalar Table>
void scatter_add_rows(std::int64_t rows, std::int64_t dim, const T* dy, std::int64_t count, const std::int64_t* index, Table* table,
                      std::int64_t skip = -1) {
  using C = std::conditional_t<std::same_as<Table, double>, double, compute_t<T>>;
  // the positions sorted by index: start[r] .. start[r + 1] are those of row r
  const Workspace<std::int64_t> start(rows + 1), order(count);
  for (std::int64_t r = 0; r <= rows; ++r) start[r] = 0;
  for (std::int64_t i = 0; i < count; ++i) ++start[index[i] + 1];
  for (std::int64_t r = 0; r < rows; ++r) start[r + 1] += start[r];
  for (std::int64_t i = count; i-- > 0;) order[--start[index[i] + 1]] = i;
  const auto begin = [&](std::int64_t r) { return start[r + 1]; };
  const auto end = [&](std::int64_t r) { return r + 1 < rows ? start[r + 2] : count; };
  const std::int64_t row_work = (std::max<std::int64_t>)(1, dim * count / (std::max<std::int64_t>)(1, rows));
  detail::parallel_rows(
      rows, row_work, [&](auto bytes, std::int64_t first, std::int64_t last) __attribute__((always_inline)) {
        constexpr int W = bytes() / int{sizeof(C)};
        using P = Pack<C, W>;
        for (std::int64_t r = first; r < last; ++r) {
          if (r == skip || begin(r) == end(r)) continue;
          for (std::int64_t j = 0; j < dim; j += W) {
            P sum = detail::load_some<P>(dy + order[begin(r)] * dim + j, dim - j);
            for (std::int64_t p = begin(r) + 1; p < end(r); ++p) sum += detail::load_some<P>(dy + order[p] * dim + j, dim - j);
            Table* to = table + r * dim + j;
            detail::store_some(to, detail::load_some<P>(to, dim - j) + sum, dim - j);
          }
        }
      });
}

}  // namespace minitorch::kernels
