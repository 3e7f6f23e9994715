// Tensors as text: nested brackets, the shortest digits that read back, long dimensions cut in the middle.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <minitorch/autograd/tensor.hpp>
#include <minitorch/core/text.hpp>

namespace minitorch {

namespace detail {

inline constexpr std::int64_t printed_edge = 3;  // elements at each end of a dimension of more than twice that

template <Element T>
void append_element(std::string& out, T value) {
  if constexpr (is_narrow<T>)
    append_text(out, static_cast<float>(value));
  else
    append_text(out, value);
}

// Ranks are at most eight: this recursion is over dimensions, not over a graph.
template <Element T>
const T* append_dim(std::string& out, const Shape& shape, int dim, const T* data) {
  if (dim == shape.rank()) {
    append_element(out, *data);
    return data + 1;
  }
  const std::int64_t size = shape[dim], step = shape.product(dim + 1, shape.rank());
  out += '[';
  for (std::int64_t i = 0; i < size; ++i) {
    if (i > 0) {
      out += ',';
      if (dim + 1 < shape.rank())
        out.append(1, '\n').append(static_cast<std::size_t>(dim) + 1, ' ');
      else
        out += ' ';
    }
    if (size > 2 * printed_edge && i == printed_edge) {
      out += "...";
      i = size - printed_edge - 1;
      continue;
    }
    append_dim(out, shape, dim + 1, data + i * step);
  }
  out += ']';
  return data + size * step;
}

}  // namespace detail

template <Element T>
void append_text(std::string& out, const Tensor<T>& tensor) {
  if (!tensor.defined()) {
    out += "undefined";
    return;
  }
  detail::append_dim(out, tensor.shape(), 0, tensor.data());
}

// For example "[[1, 2],\n [3, 4]]".
template <Element T>
std::string to_string(const Tensor<T>& tensor) {
  return concat(tensor);
}

}  // namespace minitorch
