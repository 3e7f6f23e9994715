// The shape of a tensor: up to eight dimensions, kept inline, counted in 64 bits.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <minitorch/core/error.hpp>

namespace minitorch {

inline constexpr int max_rank = 8;

class Shape {
 public:
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  // Throws ShapeError for more than max_rank dimensions or a negative one.
  constexpr explicit Shape(std::span<const std::int64_t> dims) {
    for (std::int64_t d : dims) push_back(d);
  }

  constexpr int rank() const { return rank_; }
  constexpr std::int64_t operator[](int dim) const { return dims_[static_cast<std::size_t>(dim)]; }
  constexpr std::int64_t& operator[](int dim) { return dims_[static_cast<std::size_t>(dim)]; }
  constexpr const std::int64_t* begin() const { return dims_.data(); }
  constexpr const std::int64_t* end() const { return dims_.data() + rank_; }
  constexpr std::int64_t back() const { return dims_[static_cast<std::size_t>(rank_ - 1)]; }

  // The number of elements; 1 for a scalar (rank 0).
  constexpr std::int64_t numel() const { return product(0, rank_); }
  // The product of the dimensions in [first, last).
  constexpr std::int64_t product(int first, int last) const {
    std::int64_t n = 1;
    for (int d = first; d < last; ++d) n *= (*this)[d];
    return n;
  }

  // The bytes of that many elements. Throws ShapeError if 64 bits do not hold them.
  constexpr std::int64_t bytes(std::int64_t element_size) const {
    std::int64_t n = element_size;
    bool overflow = false;
    for (int d = 0; d < rank_; ++d) {
      if ((*this)[d] == 0) return 0;
      overflow |= __builtin_mul_overflow(n, (*this)[d], &n);
    }
    if (overflow) too_large();
    return n;
  }

  constexpr void push_back(std::int64_t size) {
    if (rank_ == max_rank) fail<ShapeError>("shape: at most ", max_rank, " dimensions are supported");
    if (size < 0) fail<ShapeError>("shape: a dimension must not be negative, got ", size);
    dims_[static_cast<std::size_t>(rank_++)] = size;
  }

  // The index of a dimension that may be counted from the end (-1 is the last). Throws ShapeError out of range.
  constexpr int dim(int index, const char* operation) const {
    const int d = index < 0 ? index + rank_ : index;
    if (d < 0 || d >= rank_) out_of_range(index, operation);
    return d;
  }

  friend constexpr bool operator==(const Shape& a, const Shape& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  [[noreturn]] void out_of_range(int index, const char* operation) const;
  [[noreturn]] void too_large() const;

  std::array<std::int64_t, max_rank> dims_{};
  int rank_ = 0;
};

// "[2, 3]"; "[]" for a scalar.
inline void append_text(std::string& out, const Shape& shape) {
  out += '[';
  for (int d = 0; d < shape.rank(); ++d) {
    if (d > 0) out += ", ";
    append_text(out, shape[d]);
  }
  out += ']';
}

inline void Shape::out_of_range(int index, const char* operation) const {
  fail<ShapeError>(operation, ": dimension ", index, " is out of range for shape ", *this);
}

inline void Shape::too_large() const { fail<ShapeError>("shape: ", *this, " has more bytes than 64 bits can count"); }

// The common shape of two operands by NumPy's rule: aligned at the last dimension, sizes equal or 1. Throws ShapeError.
constexpr Shape broadcast_shapes(const Shape& a, const Shape& b, const char* operation) {
  const int rank = (std::max)(a.rank(), b.rank());
  Shape out;
  for (int d = 0; d < rank; ++d) {
    const int da = d - (rank - a.rank()), db = d - (rank - b.rank());
    const std::int64_t na = da < 0 ? 1 : a[da], nb = db < 0 ? 1 : b[db];
    if (na != nb && na != 1 && nb != 1) fail<ShapeError>(operation, ": shapes ", a, " and ", b, " do not broadcast");
    out.push_back(na == 1 ? nb : na);
  }
  return out;
}

}  // namespace minitorch
