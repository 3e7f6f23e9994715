// A matrix in memory, or a batch of them, as products see it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

namespace minitorch::kernels {

// Rows of `data` are ld numbers apart. With `transposed`, the matrix meant is the transpose of the one that lies there.
// batch_stride 0 uses the same matrix for the whole batch.
template <class T>
struct Matrix {
  T* data;
  std::int64_t ld;
  bool transposed = false;
  std::int64_t batch_stride = 0;

  operator Matrix<const T>() const requires(!std::is_const_v<T>) { return {data, ld, transposed, batch_stride}; }
};

}  // namespace minitorch::kernels
