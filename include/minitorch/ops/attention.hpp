// attention: softmax(scale q k^T) v by head, fused. The scores exist one block at a time; memory grows with the length.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <limits>

#include <minitorch/autograd/matmul.hpp>
#include <minitorch/kernels/attention.hpp>
#include <minitorch/kernels/attention_backward.hpp>
#include <minitorch/ops/composite_grad.hpp>
#include <minitorch/ops/masked.hpp>
#include <minitorch/ops/softmax.hpp>

namespace minitorch {

using kernels::CausalAlignment;

// Where the heads of an operand lie.
enum class HeadLayout {
  heads_first,  // [batch, heads, length, width]
  rows_first,   // [batch, length, heads, width]: side by side in the rows of a projection, nothing is copied
};

struct AttentionOptions {
  bool causal = false;                                    // a query sees no key that comes later
  CausalAlignment alignment = CausalAlignment::top_left;  // which key the last query of unequal lengths sees
  double scale = 0;                                       // of the scores; 0 means 1 / sqrt(width)
  HeadLayout layout = HeadLayout::heads_first;
};

struct AttentionOp : Operation<AttentionOp> {
  using Operation<AttentionOp>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& v, const AttentionOptions& options = {},
                       const Tensor<bool>& mask = {}) const;
};
// value     softmax(scale q k^T) v; 0 for a query that sees no key. kv heads are shared by groups of neighbouring query heads
// gradient  with p the probabilities, dp = dy v^T, ds = p (dp - sum(dy y)): dv = p^T dy, dq = scale ds k, dk = scale ds^T q
// saves     q, k, v, the result and the logsumexp of each row of scores
// The mask (true where a query sees a key) broadcasts to [batch, heads, queries, keys]. Leading dimensions of q, k, v may be missing:
// [length, width] is one head. Throws ShapeError for shapes that do not fit. (Dao et al., arXiv:2205.14135.)
inline constexpr AttentionOp attention;

namespace detail {

// The sizes of an operand: batch, heads, length, width, in either layout.
struct HeadSizes {
  std::int64_t batch = 1, heads = 1, length = 1, width = 1;
  HeadSizes(const Shape& shape, HeadLayout layout) {
    if (shape.rank() < 2 || shape.rank() > 4) fail<ShapeError>("attention: q, k and v must have two to four dimensions, got shape ", shape);
    const int rank = shape.rank();
    width = shape.back();
    const bool rows_first = layout == HeadLayout::rows_first && rank > 2;
    length = shape[rows_first ? rank - 3 : rank - 2];
    if (rank > 2) heads = shape[rows_first ? rank - 2 : rank - 3];
    if (rank > 3) batch = shape[0];
  }
};

template <class T>
kernels::Heads<T> heads_of(T* data, const HeadSizes& s, HeadLayout layout) {
  if (layout == HeadLayout::heads_first) return {data, s.heads * s.length * s.width, s.length * s.width, s.width};
  return {data, s.heads * s.length * s.width, s.width, s.heads * s.width};
}

template <Scalar T>
kernels::Attention attention_setting(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& v, const AttentionOptions& options,
                                     const Tensor<bool>& mask) {
  const HeadSizes sq(q.shape(), options.layout), sk(k.shape(), options.layout), sv(v.shape(), options.layout);
  if (q.rank() != k.rank() || k.rank() != v.rank() || sq.batch != sk.batch || sk.batch != sv.batch || sk.heads != sv.heads ||
      sk.length != sv.length || sq.width != sk.width || sk.heads == 0 || sq.heads % sk.heads != 0)
    fail<ShapeError>(
        "attention: q, k and v must agree in batch, k and v in heads and length, q and k in width, and the heads of q be a multiple of "
        "those of k, got ",
        q.shape(), ", ", k.shape(), " and ", v.shape());
  kernels::Attention a{sq.batch, sq.heads, sk.heads, sq.length, sk.length, sq.width, sv.width, options.scale};
  if (a.scale == 0) a.scale = 1 / std::sqrt(static_cast<double>(sq.width));
  a.causal = options.causal;
  a.alignment = options.alignment;
  if (mask.defined()) {
    const Shape full{a.batch, a.heads, a.queries, a.keys};
    if (mask.rank() > 4 || !(broadcast_shapes(mask.shape(), full, "attention") == full) || mask.rank() == 0 ||
        mask.shape().back() != a.keys)
      fail<ShapeError>("attention: the mask must have one element a key and broadcast to ", full, ", got ", mask.shape());
    const auto strides = kernels::broadcast_strides(mask.shape(), full);
    a.mask = mask.data();
    a.mask_batch_stride = strides[0];
    a.mask_head_stride = strides[1];
    a.mask_row_stride = strides[2];
  }
  return a;
}

// Which keys each query sees, [batch, heads, queries, keys].
inline Tensor<bool> visible_keys(const kernels::Attention& a) {
  return compute<bool>("visible keys", {a.batch, a.heads, a.queries, a.keys}, [&](bool* out) {
    for (std::int64_t b = 0; b < a.batch; ++b)
      for (std::int64_t h = 0; h < a.heads; ++h)
        for (std::int64_t i = 0; i < a.queries; ++i)
          for (std::int64_t j = 0; j < a.keys; ++j) *out++ = a.sees(b, h, i, j);
  });
}

// The definition: the oracle, and the way when backward itself is differentiated.
template <Scalar T>
Tensor<T> composite_attention(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& v, const AttentionOptions& options,
                              const Tensor<bool>& mask) {
  using C = compute_t<T>;
  const kernels::Attention a = attention_setting(q, k, v, options, mask);
  const bool rows_first = options.layout == HeadLayout::rows_first;
  const auto by_head = [&](const Tensor<T>& x, std::int64_t heads, std::int64_t length, std::int64_t width) {
    Tensor<C> wide = x.template to<C>().reshape(rows_first ? Shape{a.batch, length, heads, width} : Shape{a.batch, heads, length, width});
    if (rows_first) wide = transposed(wide, 1, 2);
    if (heads == a.heads) return wide;
    const std::int64_t group = a.heads / heads;  // each kv head serves a group of neighbours
    return expand(wide.reshape({a.batch, heads, 1, length, width}), {a.batch, heads, group, length, width})
        .reshape({a.batch, a.heads, length, width});
  };
  const Tensor<C> wide_q = by_head(q, a.heads, a.queries, a.head_dim), wide_k = by_head(k, a.kv_heads, a.keys, a.head_dim);
  const Tensor<bool> seen = visible_keys(a);
  const auto lowest = std::numeric_limits<C>::lowest();  // finite: a row without keys has a softmax, of which nothing is kept
  const Tensor<C> scores = mul(matmul(wide_q, wide_k, {false, true}), static_cast<C>(a.scale));
  const Tensor<C> p = where(seen, softmax(where(seen, scores, lowest)), C(0));
  const Tensor<C> y = matmul(p, by_head(v, a.kv_heads, a.keys, a.value_dim));
  Shape shape = q.shape();
  shape[q.rank() - 1] = a.value_dim;
  return (rows_first ? transposed(y, 1, 2) : y).reshape(shape).template to<T>();
}

}  // namespace detail

template <Scalar T>
Tensor<T> AttentionOp::operator()(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& v, const AttentionOptions& options,
                                  const Tensor<bool>& mask) const {
  const kernels::Attention a = detail::attention_setting(q, k, v, options, mask);
  Shape shape = q.shape();
  shape[q.rank() - 1] = a.value_dim;
  Tensor<compute_t<T>> lse = Tensor<compute_t<T>>::empty({a.batch, a.heads, a.queries});
  const auto sizes = [&](const Shape& s) { return detail::HeadSizes(s, options.layout); };
  const auto forward = [&](T* out) {
    kernels::attention<T>(a, detail::heads_of(q.data(), sizes(q.shape()), options.layout),
                          detail::heads_of(k.data(), sizes(k.shape()), options.layout),
                          detail::heads_of(v.data(), sizes(v.shape()), options.layout), detail::heads_of(out, sizes(shape), options.layout),
                          reinterpret_cast<compute_t<T>*>(lse.body()->data));
  };
  return record<T>(
      "attention", shape, filling(forward, lse),
      wrt_all(
          inputs(q, k, v),
          [](const Tensor<T>& dy, const std::array<bool, 3>&, const Tensor<T>& xq, const Tensor<T>& xk, const Tensor<T>& xv,
             const Tensor<T>& y, const Tensor<compute_t<T>>& row_lse, const AttentionOptions& how,
             const Tensor<bool>& seen) -> std::tuple<Tensor<T>, Tensor<T>, Tensor<T>> {
            if (grad_enabled()) {
              const auto f = [&](const Tensor<T>& cq, const Tensor<T>& ck, const Tensor<T>& cv) {
                return detail::composite_attention(cq, ck, cv, how, seen);
              };
              return detail::composite_grad(f, dy, xq, xk, xv);
            }
            const Tensor<T> dq = Tensor<T>::empty(xq.shape()), dk = Tensor<T>::empty(xk.shape()), dv = Tensor<T>::empty(xv.shape());
            const auto heads = [&](const Tensor<T>& x) {
              return detail::heads_of(x.data(), detail::HeadSizes(x.shape(), how.layout), how.layout);
            };
            const auto to = [&](const Tensor<T>& x) {
              return detail::heads_of(reinterpret_cast<T*>(x.body()->data), detail::HeadSizes(x.shape(), how.layout), how.layout);
            };
            kernels::attention_backward<T>(detail::attention_setting(xq, xk, xv, how, seen), heads(xq), heads(xk), heads(xv), heads(y),
                                           row_lse.data(), heads(dy), to(dq), to(dk), to(dv));
            return {dq, dk, dv};
          },
          q, k, v, result, lse, options, mask));
}

}  // namespace minitorch
