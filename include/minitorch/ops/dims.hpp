// Dims: which dimensions of a tensor an operation reduces.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <initializer_list>

#include <minitorch/core/shape.hpp>

namespace minitorch {

// One dimension, several, or all ({}). Negative ones count from the end.
class Dims {
 public:
  Dims() = default;
  Dims(int dim) : Dims({dim}) {}
  Dims(std::initializer_list<int> dims) : count_(static_cast<int>(dims.size())) {
    if (dims.size() > max_rank) fail<ArgumentError>("dims: at most ", max_rank, " dimensions are supported, got ", dims.size());
    std::copy(dims.begin(), dims.end(), dims_.begin());
  }

  // Bit d says whether dimension d of the shape is meant. Throws ShapeError out of range, ArgumentError for a dimension named twice.
  std::bitset<max_rank> of(const Shape& shape, const char* operation) const {
    std::bitset<max_rank> chosen;
    for (int d = 0; count_ == 0 && d < shape.rank(); ++d) chosen.set(static_cast<std::size_t>(d));
    for (int i = 0; i < count_; ++i) {
      const auto d = static_cast<std::size_t>(shape.dim(dims_[static_cast<std::size_t>(i)], operation));
      if (chosen[d]) fail<ArgumentError>(operation, ": dimension ", d, " of shape ", shape, " is named twice");
      chosen.set(d);
    }
    return chosen;
  }

 private:
  std::array<int, max_rank> dims_{};
  int count_ = 0;
};

namespace detail {

// The shape of a reduction: with the chosen dimensions of size 1, and without them.
struct ReducedShape {
  Shape kept, dropped;
  ReducedShape(const Shape& from, const Dims& dims, const char* operation) {
    const auto chosen = dims.of(from, operation);
    for (int d = 0; d < from.rank(); ++d) {
      const bool reduced = chosen[static_cast<std::size_t>(d)];
      kept.push_back(reduced ? 1 : from[d]);
      if (!reduced) dropped.push_back(from[d]);
    }
  }
  const Shape& get(bool keepdim) const { return keepdim ? kept : dropped; }
};

}  // namespace detail

}  // namespace minitorch
