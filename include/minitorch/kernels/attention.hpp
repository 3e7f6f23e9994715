// Attention, softmax(scale q k^T) v, fused: the scores exist one block at a time, and only their logsumexp is kept.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <minitorch/kernels/attention_blocks.hpp>

namespace minitorch::kernels {

namespace detail {

// Scores become e^(s - m) with m the largest score of the row so far; max and sum go along, `shrink` is what older sums and outputs
// are multiplied with.
template <class C>
void exponentiate(const ScoreBlock<C>& block, C* max, C* sum, C* shrink) {
  dispatch([&](auto bytes) __attribute__((always_inline)) {
    using P = Pack<C, bytes() / int{sizeof(C)}>;
    const P scale(block.a.scale);
    for (std::int64_t i = 0; i < block.queries; ++i) {
      C* scores = block.scores + i * block.row;
      const SeenRow<C> row(block, i);
      P most(max[i]);
      for_seen_scores(
          scores, row.mask, row.seen, scale, [&](const P& s, std::int64_t) __attribute__((always_inline)) { most = maximum(most, s); });
      const C now = largest(most);
      const C shift = now == -std::numeric_limits<C>::infinity() ? C(0) : now;  // a row that has seen nothing yet
      Total<C, P::width> total;
      for_seen_scores(
          scores, row.mask, row.seen, scale, [&](const P& s, std::int64_t j) __attribute__((always_inline)) {
            const P e = exp(s - P(shift));
            total.add(e);
            store_some(scores + j, e, block.keys - j);
          });
      for (std::int64_t j = (row.seen + P::width - 1) / P::width * P::width; j < block.keys; j += P::width)
        store_some(scores + j, P(), block.keys - j);
      shrink[i] = exp(P(max[i] - shift))[0];
      sum[i] = sum[i] * shrink[i] + static_cast<C>(total.value());
      max[i] = now;
    }
  });
}

template <class C>
void scale_rows(std::int64_t rows, std::int64_t n, const C* factors, C* x) {
  dispatch([&](auto bytes) __attribute__((always_inline)) {
    using P = Pack<C, bytes() / int{sizeof(C)}>;
    for (std::int64_t i = 0; i < rows; ++i)
      if (factors[i] != 1)
        for (std::int64_t j = 0; j < n; j += P::width) store_some(x + i * n + j, load_some<P>(x + i * n + j, n - j) * P(factors[i]), n - j);
  });
}

// The buffers of one thread, for one block of queries.
template <class T>
class AttentionForward {
  using C = compute_t<T>;

 public:
  explicit AttentionForward(const Attention& a)
      : a_(a),
        scores_(query_block * key_block),
        sums_(query_block * a.value_dim),
        max_(query_block),
        sum_(query_block),
        shrink_(query_block) {}

  void run(std::int64_t b, std::int64_t h, std::int64_t q0, const Heads<const T>& q, const Heads<const T>& k, const Heads<const T>& v,
           const Heads<T>& out, C* lse) {
    const std::int64_t queries = (std::min)(query_block, a_.queries - q0), kv = h / (a_.heads / a_.kv_heads), d = a_.head_dim,
                       dv = a_.value_dim;
    const std::int64_t reach = a_.visible(q0 + queries - 1);
    if (!values_ || head_ != b * a_.kv_heads + kv) values_.emplace(a_, v.at(b, kv), v.row_stride, dv);
    head_ = b * a_.kv_heads + kv;
    const CleanRows<T>& values = *values_;
    std::fill(max_.data(), max_.data() + queries, -std::numeric_limits<C>::infinity());
    std::fill(sum_.data(), sum_.data() + queries, C(0));
    std::fill(sums_.data(), sums_.data() + queries * dv, C(0));
    for (std::int64_t k0 = 0; k0 < reach; k0 += key_block) {
      const std::int64_t keys = (std::min)(key_block, reach - k0);
      gemm<T, T, C>(1, queries, keys, d, {q.at(b, h, q0), q.row_stride}, {k.at(b, kv, k0), k.row_stride, true}, {scores_.data(), key_block},
                    false);
      exponentiate<C>({a_, b, h, q0, queries, k0, keys, key_block, scores_.data()}, max_.data(), sum_.data(), shrink_.data());
      if (k0 > 0) scale_rows(queries, dv, shrink_.data(), sums_.data());
      gemm<C, T, C>(1, queries, dv, keys, {scores_.data(), key_block}, values.from(k0), {sums_.data(), dv}, k0 > 0);
      values.add_bad(a_, b, h, q0, queries, k0, keys, scores_.data(), key_block, sums_.data(), dv);
    }
    for (std::int64_t i = 0; i < queries; ++i) {
      lse[(b * a_.heads + h) * a_.queries + q0 + i] = max_[i] + std::log(sum_[i]);
      shrink_[i] = sum_[i] == 0 ? C(0) : 1 / sum_[i];
    }
    dispatch([&](auto bytes) __attribute__((always_inline)) {
      using P = Pack<C, bytes() / int{sizeof(C)}>;
      for (std::int64_t i = 0; i < queries; ++i)
        for (std::int64_t j = 0; j < dv; j += P::width)
          store_some(out.at(b, h, q0 + i) + j, load_some<P>(sums_.data() + i * dv + j, dv - j) * P(shrink_[i]), dv - j);
    });
  }

 private:
  const Attention& a_;
  const Workspace<C> scores_, sums_, max_, sum_, shrink_;
  std::optional<CleanRows<T>> values_;  // those of the kv head `head_`
  std::int64_t head_ = -1;
};

}  // namespace detail

// out = softmax(scale q k^T) v by head, and lse [batch, heads, queries], the logsumexp of each row of scores. A query that sees no
// key gives 0, and -inf. q [batch, heads, queries, head_dim], k and v [batch, kv_heads, keys, head_dim or value_dim]; head h uses
// the keys of kv head h / (heads / kv_heads).
template <Scalar T>
void attention(const Attention& a, Heads<const T> q, Heads<const T> k, Heads<const T> v, Heads<T> out, compute_t<T>* lse) {
  const std::int64_t blocks = (a.queries + detail::query_block - 1) / detail::query_block, tasks = a.batch * a.heads * blocks;
  if (tasks == 0) return;
  const std::int64_t work = (std::min)(detail::query_block, a.queries) * a.keys * (a.head_dim + a.value_dim);
  parallel_for(tasks, (std::max<std::int64_t>)(1, (1 << 18) / (work + 1)), [&](std::int64_t first, std::int64_t last) {
    detail::AttentionForward<T> forward(a);
    for (std::int64_t t = first; t < last; ++t)
      forward.run(t / (a.heads * blocks), t / blocks % a.heads, t % blocks * detail::query_block, q, k, v, out, lse);
  });
}

}  // namespace minitorch::kernels
