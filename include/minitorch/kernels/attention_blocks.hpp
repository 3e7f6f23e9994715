// What the forward and the backward pass of attention share: shapes, masks, and a block of scores turned into probabilities.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <limits>

#include <minitorch/kernels/gemm.hpp>
#include <minitorch/kernels/math/exp.hpp>
#include <minitorch/kernels/rows.hpp>

namespace minitorch::kernels {

// One operand of attention: rows of head h of batch b start at data + b batch_stride + h head_stride and are row_stride apart, so
// that heads may lie side by side in the rows of a projection.
template <class T>
struct Heads {
  T* data;
  std::int64_t batch_stride, head_stride, row_stride;

  T* at(std::int64_t batch, std::int64_t head, std::int64_t row = 0) const {
    return data + batch * batch_stride + head * head_stride + row * row_stride;
  }
};

// Which key the last query of a causal mask sees when there are fewer queries than keys: query i sees the keys up to i (top left),
// or up to i + keys - queries (bottom right).
enum class CausalAlignment { top_left, bottom_right };

struct Attention {
  std::int64_t batch, heads, kv_heads, queries, keys, head_dim, value_dim;  // heads is a multiple of kv_heads
  double scale;                                                             // of the products of queries and keys
  bool causal = false;
  CausalAlignment alignment = CausalAlignment::top_left;
  const bool* mask = nullptr;  // true where a query sees a key; keys are neighbours
  std::int64_t mask_batch_stride = 0, mask_head_stride = 0, mask_row_stride = 0;

  // The number of keys that a query may see before the mask.
  std::int64_t visible(std::int64_t query) const {
    if (!causal) return keys;
    const std::int64_t last = alignment == CausalAlignment::top_left ? query : query + keys - queries;
    return (std::max<std::int64_t>)(0, (std::min)(last + 1, keys));
  }
  const bool* mask_row(std::int64_t b, std::int64_t h, std::int64_t query) const {
    return mask == nullptr ? nullptr : mask + b * mask_batch_stride + h * mask_head_stride + query * mask_row_stride;
  }
  bool sees(std::int64_t b, std::int64_t h, std::int64_t query, std::int64_t key) const {
    return key < visible(query) && (mask == nullptr || mask_row(b, h, query)[key]);
  }
  bool hides_keys() const { return causal || mask != nullptr; }
};

namespace detail {

inline constexpr std::int64_t query_block = 128, key_block = 256;

// Rows of k or v of one head. When some keys may be hidden, a row that is not finite must not reach the queries that do not see
// it, not even as 0 * NaN: products use a copy in which it is zero, and it is added where it is seen.
template <class T>
class CleanRows {
 public:
  CleanRows(const Attention& a, const T* rows, std::int64_t stride, std::int64_t width)
      : rows_(rows),
        stride_(stride),
        width_(width),
        bad_(a.hides_keys() ? a.keys : 0),
        copy_(a.hides_keys() && find_bad(a.keys) ? a.keys * width : 0) {
    if (bad_count_ == 0) return;
    for (std::int64_t r = 0, next = 0; r < a.keys; ++r) {
      const bool bad = next < bad_count_ && bad_[next] == r;
      for (std::int64_t j = 0; j < width; ++j) copy_[r * width + j] = bad ? T(0) : rows[r * stride + j];
      next += bad ? 1 : 0;
    }
  }

  // Rows from `first` on, as a factor of a product.
  Matrix<const T> from(std::int64_t first) const {
    if (bad_count_ > 0) return {copy_.data() + first * width_, width_};
    return {rows_ + first * stride_, stride_};
  }

  // to[i] += weights[i, key] row of key, for the rows that were left out and are seen.
  template <class C>
  void add_bad(const Attention& a, std::int64_t b, std::int64_t h, std::int64_t q0, std::int64_t queries, std::int64_t k0,
               std::int64_t keys, const C* weights, std::int64_t weights_row, C* to, std::int64_t to_row) const {
    for (std::int64_t n = 0; n < bad_count_; ++n) {
      const std::int64_t key = bad_[n];
      if (key < k0 || key >= k0 + keys) continue;
      for (std::int64_t i = 0; i < queries; ++i)
        if (a.sees(b, h, q0 + i, key))
          for (std::int64_t j = 0; j < width_; ++j)
            to[i * to_row + j] += weights[i * weights_row + key - k0] * static_cast<C>(rows_[key * stride_ + j]);
    }
  }

 private:
  bool find_bad(std::int64_t keys) {
    dispatch([&](auto bytes) __attribute__((always_inline)) {
      using P = Pack<compute_t<T>, bytes() / int{sizeof(compute_t<T>)}>;
      for (std::int64_t r = 0; r < keys; ++r) {
        P zero;
        for (std::int64_t j = 0; j < width_; j += P::width) zero += load_some<P>(rows_ + r * stride_ + j, width_ - j) * P(0);
        if (!all(zero == P(0))) bad_[bad_count_++] = r;
      }
    });
    return bad_count_ > 0;
  }

  const T* rows_;
  std::int64_t stride_, width_, bad_count_ = 0;
  const Workspace<std::int64_t> bad_;
  const Workspace<T> copy_;
};

// The scores of one block, [queries, row], at queries q0.. and keys k0...
template <class C>
struct ScoreBlock {
  const Attention& a;
  std::int64_t b, h, q0, queries, k0, keys, row;
  C* scores;
};

// Calls body(pack of scale * scores, index) for the `seen` first scores of a row; -inf stands where the mask hides a key, and in the
// lanes beyond the last one.
template <class P, class C, class Body>
[[gnu::always_inline]] inline void for_seen_scores(const C* scores, const bool* mask, std::int64_t seen, const P& scale, const Body& body) {
  const P hidden(-std::numeric_limits<C>::infinity());
  std::int64_t j = 0;
  if (mask == nullptr)
    for (; j + P::width <= seen; j += P::width) body(load<P>(scores + j) * scale, j);
  for (; j < seen; j += P::width) {
    P s = load_some<P>(scores + j, seen - j) * scale;
    if (mask != nullptr) s = select(load_mask<P>(mask + j, seen - j), s, hidden);
    if (seen - j < P::width) s = select(first_lanes<P>(seen - j), s, hidden);
    body(s, j);
  }
}

// Of the keys of a block, how many a query may see, and its part of the mask.
template <class C>
struct SeenRow {
  std::int64_t seen;
  const bool* mask;
  SeenRow(const ScoreBlock<C>& block, std::int64_t i)
      : seen((std::min)(block.keys, (std::max<std::int64_t>)(0, block.a.visible(block.q0 + i) - block.k0))),
        mask(block.a.mask == nullptr ? nullptr : block.a.mask_row(block.b, block.h, block.q0 + i) + block.k0) {}
};

}  // namespace detail

}  // namespace minitorch::kernels
