// The gradient of attention: probabilities are computed again from the logsumexp, one block at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/attention_blocks.hpp>

namespace minitorch::kernels {

namespace detail {

// Scores become probabilities p = e^(s - lse).
template <class C>
void probabilities(const ScoreBlock<C>& block, const C* lse) {
  dispatch([&](auto bytes) __attribute__((always_inline)) {
    using P = Pack<C, bytes() / int{sizeof(C)}>;
    const P scale(block.a.scale);
    for (std::int64_t i = 0; i < block.queries; ++i) {
      C* scores = block.scores + i * block.row;
      const SeenRow<C> row(block, i);
      const P shift(lse[i] == -std::numeric_limits<C>::infinity() ? C(0) : lse[i]);
      for_seen_scores(
          scores, row.mask, row.seen, scale, [&](const P& s, std::int64_t j) __attribute__((always_inline)) {
            store_some(scores + j, exp(s - shift), block.keys - j);
          });
      for (std::int64_t j = (row.seen + P::width - 1) / P::width * P::width; j < block.keys; j += P::width)
        store_some(scores + j, P(), block.keys - j);
    }
  });
}

// dp becomes ds = scale p (dp - dot), and 0 where p is 0.
template <class C>
void score_gradients(const ScoreBlock<C>& block, const C* dot, C* dp) {
  dispatch([&](auto bytes) __attribute__((always_inline)) {
    using P = Pack<C, bytes() / int{sizeof(C)}>;
    const P scale(block.a.scale);
    for (std::int64_t i = 0; i < block.queries; ++i)
      for (std::int64_t j = 0; j < block.keys; j += P::width) {
        C* to = dp + i * block.row + j;
        const P p = load_some<P>(block.scores + i * block.row + j, block.keys - j);
        store_some(to, select(p == P(0), P(0), p * (load_some<P>(to, block.keys - j) - P(dot[i])) * scale), block.keys - j);
      }
  });
}

// One kv head of one batch, with all heads that use it.
template <class T>
class AttentionBackward {
  using C = compute_t<T>;

 public:
  struct Operands {
    Heads<const T> q, k, v, out, dout;
    const C* lse;
    Heads<T> dq, dk, dv;
  };

  AttentionBackward(const Attention& a, const Operands& o)
      : a_(a),
        o_(o),
        scores_(query_block * key_block),
        dscores_(query_block * key_block),
        dot_(a.queries),
        dq_(a.queries * a.head_dim),
        dk_(a.keys * a.head_dim),
        dv_(a.keys * a.value_dim) {}

  void run(std::int64_t b, std::int64_t kv) {
    const std::int64_t group = a_.heads / a_.kv_heads, d = a_.head_dim, dv = a_.value_dim;
    const CleanRows<T> keys(a_, o_.k.at(b, kv), o_.k.row_stride, d);
    std::fill(dk_.data(), dk_.data() + a_.keys * d, C(0));
    std::fill(dv_.data(), dv_.data() + a_.keys * dv, C(0));
    for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h) {
      row_dots(b, h);
      std::fill(dq_.data(), dq_.data() + a_.queries * d, C(0));
      for (std::int64_t k0 = 0; k0 < a_.keys; k0 += key_block)
        for (std::int64_t q0 = 0; q0 < a_.queries; q0 += query_block) run_block(b, h, kv, q0, k0, keys);
      write(a_.queries, d, dq_.data(), o_.dq.at(b, h), o_.dq.row_stride);
    }
    write(a_.keys, d, dk_.data(), o_.dk.at(b, kv), o_.dk.row_stride);
    write(a_.keys, dv, dv_.data(), o_.dv.at(b, kv), o_.dv.row_stride);
  }

 private:
  void run_block(std::int64_t b, std::int64_t h, std::int64_t kv, std::int64_t q0, std::int64_t k0, const CleanRows<T>& clean_keys) {
    const std::int64_t queries = (std::min)(query_block, a_.queries - q0), d = a_.head_dim, dv = a_.value_dim;
    const std::int64_t keys = (std::min)(key_block, a_.visible(q0 + queries - 1) - k0);
    if (keys <= 0) return;
    const Matrix<const T> q{o_.q.at(b, h, q0), o_.q.row_stride}, dout{o_.dout.at(b, h, q0), o_.dout.row_stride};
    const Matrix<const C> p_transposed{scores_.data(), key_block, true}, ds{dscores_.data(), key_block},
        ds_transposed{dscores_.data(), key_block, true};
    const ScoreBlock<C> block{a_, b, h, q0, queries, k0, keys, key_block, scores_.data()};
    gemm<T, T, C>(1, queries, keys, d, q, {o_.k.at(b, kv, k0), o_.k.row_stride, true}, {scores_.data(), key_block}, false);
    probabilities(block, o_.lse + (b * a_.heads + h) * a_.queries + q0);
    gemm<C, T, C>(1, keys, dv, queries, p_transposed, dout, {dv_.data() + k0 * dv, dv}, true);
    gemm<T, T, C>(1, queries, keys, dv, dout, {o_.v.at(b, kv, k0), o_.v.row_stride, true}, {dscores_.data(), key_block}, false);
    score_gradients(block, dot_.data() + q0, dscores_.data());
    gemm<C, T, C>(1, queries, d, keys, ds, clean_keys.from(k0), {dq_.data() + q0 * d, d}, true);
    clean_keys.add_bad(a_, b, h, q0, queries, k0, keys, dscores_.data(), key_block, dq_.data() + q0 * d, d);
    gemm<C, T, C>(1, keys, d, queries, ds_transposed, q, {dk_.data() + k0 * d, d}, true);
  }

  // dot[i] = sum_j dout[i, j] out[i, j], which is sum_j p[i, j] dp[i, j].
  void row_dots(std::int64_t b, std::int64_t h) {
    dispatch([&](auto bytes) __attribute__((always_inline)) {
      using P = Pack<C, bytes() / int{sizeof(C)}>;
      for (std::int64_t i = 0; i < a_.queries; ++i) {
        const T *out = o_.out.at(b, h, i), *dout = o_.dout.at(b, h, i);
        Total<C, P::width> total;
        for (std::int64_t j = 0; j < a_.value_dim; j += P::width)
          total.add(load_some<P>(out + j, a_.value_dim - j) * load_some<P>(dout + j, a_.value_dim - j));
        dot_[i] = static_cast<C>(total.value());
      }
    });
  }

  static void write(std::int64_t rows, std::int64_t n, const C* from, T* to, std::int64_t to_row) {
    dispatch([&](auto bytes) __attribute__((always_inline)) {
      using P = Pack<C, bytes() / int{sizeof(C)}>;
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < n; j += P::width) store_some(to + i * to_row + j, load_some<P>(from + i * n + j, n - j), n - j);
    });
  }

  const Attention& a_;
  const Operands& o_;
  const Workspace<C> scores_, dscores_, dot_, dq_, dk_, dv_;
};

}  // namespace detail

// The gradients of attention's operands from that of its result; out and lse are what attention gave. Parallel over batch and kv
// heads, so that a sum's order never depends on the number of threads.
template <Scalar T>
void attention_backward(const Attention& a, Heads<const T> q, Heads<const T> k, Heads<const T> v, Heads<const T> out,
                        const compute_t<T>* lse, Heads<const T> dout, Heads<T> dq, Heads<T> dk, Heads<T> dv) {
  const typename detail::AttentionBackward<T>::Operands operands{q, k, v, out, dout, lse, dq, dk, dv};
  const std::int64_t work = a.heads / (std::max<std::int64_t>)(1, a.kv_heads) * a.queries * a.keys * (a.head_dim + a.value_dim);
  parallel_for(a.batch * a.kv_heads, (std::max<std::int64_t>)(1, (1 << 17) / (work + 1)), [&](std::int64_t first, std::int64_t last) {
    detail::AttentionBackward<T> backward(a, operands);
    for (std::int64_t t = first; t < last; ++t) backward.run(t / a.kv_heads, t % a.kv_heads);
  });
}

}  // namespace minitorch::kernels
