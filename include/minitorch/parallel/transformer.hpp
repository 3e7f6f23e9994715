// The parts of a transformer over a group of ranks: MLP and attention split as Megatron does, with or without sequence parallelism.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <minitorch/nn/transformer.hpp>
#include <minitorch/parallel/linear.hpp>
#include <minitorch/parallel/operations.hpp>
#include <minitorch/parallel/overlap.hpp>

namespace minitorch::parallel {

inline constexpr int sequence_dim = 1;  // of [batch, length, width]

namespace detail {

// The layers at the entry of a split region: an Invariant stream is replicated, one that is sharded along the sequence is gathered.
template <Scalar A, PlacementTag P, AxisName Name, Scalar T, class... More>
std::array<Placed<A, Sharded<last>, Name>, 1 + sizeof...(More)> enter(const Placed<A, P, Name>& x, const ColumnLinear<T>& first,
                                                                      const More&... more) {
  static_assert(std::same_as<P, Invariant> || std::same_as<P, Sharded<sequence_dim>>,
                "the stream is Invariant, or Sharded along the sequence");
  if constexpr (std::same_as<P, Invariant>) {
    return column_layers(x, first, more...);
  } else {
    const auto whole = all_gather<Replicated>(x);
    return {first(whole), more(whole)...};
  }
}

// Out of it: one all-reduce, or a reduce-scatter along the sequence.
template <PlacementTag P, Scalar A, AxisName Name>
Placed<A, P, Name> leave(const Placed<A, Partial, Name>& x) {
  if constexpr (std::same_as<P, Invariant>)
    return all_reduce(x);
  else
    return reduce_scatter<sequence_dim>(x);
}

}  // namespace detail

// down(act(up(x))), up split by columns and down by rows: one all-reduce forward and one backward. Starts with the numbers of nn::MLP.
template <Scalar T, Module Act = nn::GELU>
class ParallelMLP {
 public:
  ColumnLinear<T> up;
  RowLinear<T> down;
  Act activation;

  // Throws ShapeError unless the shards divide `inner`.
  ParallelMLP(const Axis& axis, std::int64_t in, std::int64_t inner, std::int64_t out, const nn::LinearOptions& up_options = {},
              const nn::LinearOptions& down_options = {})
      : up(axis, in, inner, up_options), down(axis, inner, out, down_options) {}

  template <Scalar A, PlacementTag P, AxisName Name>
  Placed<A, P, Name> operator()(const Placed<A, P, Name>& x) const {
    return detail::leave<P>(down(activation(detail::enter(x, up)[0])));
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("up", up);
    v("down", down);
    v("activation", activation);
  }
};

// Attention with the heads split over ranks: one all-reduce forward and one backward. Starts with the numbers of
// nn::MultiHeadAttention.
template <Scalar T>
class ParallelAttention {
 public:
  ColumnLinear<T> query, key, value;
  RowLinear<T> output;

  // Throws ArgumentError unless the shards divide the heads, and the kv heads.
  ParallelAttention(const Axis& axis, const nn::AttentionSettings& s)
      : query(axis, checked(axis, s).dim, s.dim, s.projection),
        key(axis, s.dim, s.kv_dim(), s.projection),
        value(axis, s.dim, s.kv_dim(), s.projection),
        output(axis, s.dim, s.dim, s.output),
        heads_(s.heads / axis.shards()),
        kv_heads_(s.shared_heads() / axis.shards()),
        causal_(s.causal) {}

  template <Scalar A, PlacementTag P, AxisName Name>
  Placed<A, P, Name> operator()(const Placed<A, P, Name>& x) const {
    const auto [q, k, v] = detail::enter(x, query, key, value);
    std::vector<Tensor<A>> parts;
    for (std::size_t i = 0; i < q.parts().size(); ++i) {
      const Tensor<A> heads =
          attention(by_heads(q.parts()[i], heads_), by_heads(k.parts()[i], kv_heads_), by_heads(v.parts()[i], kv_heads_),
                    {.causal = causal_, .alignment = CausalAlignment::bottom_right, .layout = HeadLayout::rows_first});
      parts.push_back(heads.reshape(q.parts()[i].shape()));
    }
    return detail::leave<P>(output(Placed<A, Sharded<last>, Name>(x.axis(), std::move(parts))));
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("query", query);
    v("key", key);
    v("value", value);
    v("output", output);
  }

 private:
  static const nn::AttentionSettings& checked(const Axis& axis, const nn::AttentionSettings& s) {
    s.checked();
    if (s.heads % axis.shards() != 0 || s.shared_heads() % axis.shards() != 0)
      fail<ArgumentError>("parallel attention: ", axis.shards(), " shards do not divide ", s.heads, " heads and ", s.shared_heads(),
                          " key and value heads; the number of shards must divide both");
    return s;
  }
  template <Scalar A>
  static Tensor<A> by_heads(const Tensor<A>& x, std::int64_t count) {
    return x.reshape({x.shape()[0], x.shape()[1], count, x.shape()[2] / count});
  }

  std::int64_t heads_, kv_heads_;
  bool causal_;
};

template <Scalar T, class C = void, Module Act = nn::GELU>
using ParallelBlock = nn::ResidualBlock<nn::LayerNorm<T>, ParallelAttention<T>, ParallelMLP<T, Act>, C>;

}  // namespace minitorch::parallel
