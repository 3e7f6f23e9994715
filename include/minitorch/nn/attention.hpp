// MultiHeadAttention: every position looks at the others through several heads; with shared keys and values, and a cache for use.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

#include <minitorch/nn/linear.hpp>
#include <minitorch/ops/attention.hpp>
#include <minitorch/ops/concatenate.hpp>

namespace minitorch::nn {

struct AttentionSettings {
  std::int64_t dim = 0, heads = 1;
  std::int64_t kv_heads = 0;  // heads of keys and values, each shared by heads / kv_heads query heads; 0 means `heads`
  bool causal = true;
  LinearOptions projection = {};  // of queries, keys and values
  LinearOptions output = {};

  // Throws ArgumentError unless the heads divide the width and the kv heads the heads.
  const AttentionSettings& checked() const {
    if (heads < 1 || dim < 1 || dim % heads != 0) fail<ArgumentError>("attention: ", heads, " heads do not divide a width of ", dim);
    if (kv_heads < 0 || heads % shared_heads() != 0)
      fail<ArgumentError>("attention: ", kv_heads, " kv heads do not divide ", heads, " heads");
    return *this;
  }
  std::int64_t shared_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  std::int64_t kv_dim() const { return dim / heads * shared_heads(); }
};

// Keys and values of the positions that were seen: [batch, length, kv heads, width].
template <Scalar T>
struct KeyValueCache {
  Tensor<T> keys, values;
  std::int64_t length() const { return keys.defined() ? keys.shape()[1] : 0; }
};

template <Scalar T>
class MultiHeadAttention : detail::MoveOnly {
 public:
  Linear<T> query, key, value, output;
  std::int64_t heads, kv_heads;
  bool causal;

  // Throws ArgumentError, see AttentionSettings.
  explicit MultiHeadAttention(const AttentionSettings& s)
      : query(s.checked().dim, s.dim, s.projection),
        key(s.dim, s.kv_dim(), s.projection),
        value(s.dim, s.kv_dim(), s.projection),
        output(s.dim, s.dim, s.output),
        heads(s.heads),
        kv_heads(s.shared_heads()),
        causal(s.causal) {}
  MultiHeadAttention(Linear<T> q, Linear<T> k, Linear<T> v, Linear<T> o, std::int64_t head_count, std::int64_t kv_head_count,
                     bool is_causal)
      : query(std::move(q)),
        key(std::move(k)),
        value(std::move(v)),
        output(std::move(o)),
        heads(head_count),
        kv_heads(kv_head_count),
        causal(is_causal) {}

  MultiHeadAttention clone() const {
    return MultiHeadAttention(query.clone(), key.clone(), value.clone(), output.clone(), heads, kv_heads, causal);
  }

  // x [batch, length, dim] gives the same shape.
  template <Scalar A>
  Tensor<A> operator()(const Tensor<A>& x) const {
    return joined(attention(split(query(x), heads), split(key(x), kv_heads), split(value(x), kv_heads), options()), x.shape());
  }

  // The positions of x follow those in the cache, which grows by them. Without gradients.
  template <Scalar A>
  Tensor<A> operator()(const Tensor<A>& x, KeyValueCache<A>& cache) const {
    const NoGrad guard;
    Tensor<A> k = split(key(x), kv_heads), v = split(value(x), kv_heads);
    cache.keys = cache.keys.defined() ? concatenate({cache.keys, k}, 1) : k;
    cache.values = cache.values.defined() ? concatenate({cache.values, v}, 1) : v;
    return joined(attention(split(query(x), heads), cache.keys, cache.values, options()), x.shape());
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("query", query);
    v("key", key);
    v("value", value);
    v("output", output);
  }

 private:
  AttentionOptions options() const {
    return {.causal = causal, .alignment = CausalAlignment::bottom_right, .layout = HeadLayout::rows_first};
  }
  template <Scalar A>
  static Tensor<A> split(const Tensor<A>& x, std::int64_t count) {
    return x.reshape({x.shape()[0], x.shape()[1], count, x.shape()[2] / count});
  }
  template <Scalar A>
  Tensor<A> joined(const Tensor<A>& y, const Shape& shape) const {
    return output(y.reshape(shape));
  }
};

}  // namespace minitorch::nn
