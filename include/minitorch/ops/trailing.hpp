// How reductions see their input: the dimensions that they reduce last, as one.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include <minitorch/autograd/view.hpp>
#include <minitorch/ops/dims.hpp>
#include <minitorch/ops/permute.hpp>

namespace minitorch::detail {

// x as [rows, n], where a row holds what is reduced to one number. Copies only when the reduced dimensions are not the last ones.
template <Scalar T>
Tensor<T> trailing_rows(const Tensor<T>& x, const Dims& dims, const char* operation) {
  const auto chosen = dims.of(x.shape(), operation);
  std::array<int, max_rank> order{};
  int next = 0;
  std::int64_t n = 1, rows = 1;
  for (const bool reduced : {false, true})
    for (int d = 0; d < x.rank(); ++d)
      if (chosen[static_cast<std::size_t>(d)] == reduced) {
        order[static_cast<std::size_t>(next++)] = d;
        (reduced ? n : rows) *= x.shape()[d];
      }
  bool in_order = true;
  for (int d = 0; d < x.rank(); ++d) in_order = in_order && order[static_cast<std::size_t>(d)] == d;
  const Tensor<T> last = in_order ? x : permute(x, std::span<const int>(order.data(), static_cast<std::size_t>(x.rank())));
  return last.reshape({rows, n});
}

}  // namespace minitorch::detail
