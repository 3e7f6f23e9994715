// Where a tensor lies in the whole that it is a slice of: random numbers belong to elements of the whole.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include <minitorch/core/shape.hpp>

namespace minitorch::kernels {

// Which sequence of random numbers: the key and the upper half of the counter.
struct RandomKey {
  std::uint64_t seed, stream;
};

// The slice [offset, offset + local) of a tensor of shape `global`.
struct Window {
  Shape offset, local, global;

  // All of a tensor.
  static Window whole(const Shape& shape) {
    Window window{shape, shape, shape};
    for (int d = 0; d < shape.rank(); ++d) window.offset[d] = 0;
    return window;
  }
};

// Calls body(first index in the whole, first index in the slice, count) for pieces of consecutive elements that cover the
// elements [first, last) of the slice.
template <class Body>
void for_each_run(const Window& window, std::int64_t first, std::int64_t last, Body&& body) {
  int inner = window.local.rank();  // dimensions from here on are one run
  std::int64_t length = 1;
  while (inner > 0) {
    const bool whole = window.local[inner - 1] == window.global[inner - 1];
    length *= window.local[--inner];
    if (!whole) break;
  }
  while (first < last) {
    const std::int64_t run = first / length, within = first % length, count = (std::min)(length - within, last - first);
    std::int64_t index = within, rest = run, stride = 1;
    for (int d = window.local.rank() - 1; d >= 0; --d) {
      std::int64_t at = window.offset[d];
      if (d < inner) {
        at += rest % window.local[d];
        rest /= window.local[d];
      }
      index += at * stride;
      stride *= window.global[d];
    }
    body(index, first, count);
    first += count;
  }
}

}  // namespace minitorch::kernels
