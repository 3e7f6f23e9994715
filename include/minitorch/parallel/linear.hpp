// Linear layers over a group of ranks: cut by columns (outputs) or by rows (inputs).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <minitorch/kernels/convert.hpp>
#include <minitorch/memory/workspace.hpp>
#include <minitorch/nn/linear.hpp>
#include <minitorch/ops/linear.hpp>
#include <minitorch/parallel/moves.hpp>
#include <minitorch/parallel/rules.hpp>
#include <minitorch/parallel/sharded_parameter.hpp>

namespace minitorch::parallel {

namespace detail {

// value     a part of x W^T + b, in the accumulation type, for x [..., in] and W [out, in]: with b on the first shard alone
// gradient  dy W, dy^T x, with dy rounded to x's type; the sum of dy's rows on every rank, because the gradient of a Partial value is
//           whole everywhere
// saves     x and W
template <Scalar A, Scalar W>
Tensor<compute_t<A>> part_of_linear(const Tensor<A>& x, const Tensor<W>& weight, const Tensor<W>& bias, bool first) {
  using Wide = compute_t<A>;
  minitorch::detail::check_linear(x, weight, bias);
  const std::int64_t out_width = weight.shape()[0], in_width = weight.shape()[1], rows = x.shape().product(0, x.rank() - 1);
  Shape shape = x.shape();
  shape[x.rank() - 1] = out_width;
  const auto forward = [&](Wide* out) {
    const Product<A, W> product{x, weight, false, true, 1, rows, out_width, in_width};
    const bool adds = first && bias.defined();
    const Workspace<Wide> added(adds ? out_width : 0);
    if (adds) kernels::convert(out_width, added.data(), bias.data());
    run_product(product, out, false, adds ? added.data() : nullptr);
  };
  const auto for_x = wrt(
      x,
      [](const Tensor<Wide>& dy, const Tensor<W>& w, std::int64_t m) {
        return Product<A, W>{dy.template to<A>(), w, false, false, 1, m, w.shape()[1], w.shape()[0]};
      },
      weight, rows);
  const auto for_weight = wrt(
      weight,
      [](const Tensor<Wide>& dy, const Tensor<A>& input, std::int64_t m) {
        return Product<A, A>{dy.template to<A>(), input, true, false, 1, dy.shape().back(), input.shape().back(), m};
      },
      x, rows);
  if (!bias.defined()) return record<Wide>("part_of_linear", shape, forward, for_x, for_weight);
  return record<Wide>("part_of_linear", shape, forward, for_x, for_weight,
                      wrt(bias, [](const Tensor<Wide>& dy) { return minitorch::detail::sum_rows(dy, dy.shape().back()); }));
}

}  // namespace detail

// y = x W^T + b with W [out, in] cut by its rows, so that each shard has a slice of the outputs: Replicated -> Sharded<last>.
// Starts with the numbers of nn::Linear<T>(in, out) for the same seed.
template <Scalar T>
class ColumnLinear {
 public:
  ColumnLinear(const Axis& axis, std::int64_t in, std::int64_t out, const nn::LinearOptions& options = {}) {
    weight = sharded_parameter<T>(axis, {out, in}, 0, options.weight_init.value_or(nn::Init::fan_in(in)));
    if (options.bias) bias = sharded_parameter<T>(axis, {out}, 0, options.bias_init.value_or(nn::Init::fan_in(in)));
  }

  template <Scalar A, AxisName Name>
  Placed<A, Sharded<last>, Name> operator()(const Placed<A, Replicated, Name>& x) const {
    std::vector<Tensor<A>> parts;
    for (std::size_t i = 0; i < weight.shards.size(); ++i)
      parts.push_back(linear(x.parts()[i], weight.shards[i], bias.defined() ? bias.shards[i] : Tensor<T>{}));
    return {x.axis(), std::move(parts)};
  }
  template <Scalar A, PlacementTag P, AxisName Name>
  void operator()(const Placed<A, P, Name>&) const {
    static_assert(std::same_as<P, Replicated>,
                  "ColumnLinear takes a Replicated value, because each shard gives a part of its gradient: replicate(x) an Invariant one, "
                  "all_gather<Replicated>(x) a Sharded one, all_reduce<Replicated>(x) a Partial one");
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight);
    v("bias", bias);
  }

  ShardedParameter<T> weight, bias;
};

// y = x W^T + b with W [out, in] cut by its columns, so that each shard has a part of the sum: Sharded<last> -> Partial.
// The bias [out] is whole on every rank and added once. Starts with the numbers of nn::Linear<T>(in, out) for the same seed.
template <Scalar T>
class RowLinear {
 public:
  RowLinear(const Axis& axis, std::int64_t in, std::int64_t out, const nn::LinearOptions& options = {}) {
    weight = sharded_parameter<T>(axis, {out, in}, 1, options.weight_init.value_or(nn::Init::fan_in(in)));
    if (options.bias) bias = nn::parameter<T>({out}, options.bias_init.value_or(nn::Init::fan_in(in)));
  }

  template <Scalar A, AxisName Name>
  Placed<A, Partial, Name> operator()(const Placed<A, Sharded<last>, Name>& x) const {
    const MemoryScope in_arena(x.comm().memory());  // the sum over ranks reads the parts where they are
    std::vector<Tensor<compute_t<A>>> parts;
    for (std::size_t i = 0; i < weight.shards.size(); ++i)
      parts.push_back(detail::part_of_linear(x.parts()[i], weight.shards[i], i == 0 ? bias : Tensor<T>{}, x.axis().shard(0) == 0));
    return {x.axis(), std::move(parts)};
  }
  template <Scalar A, PlacementTag P, AxisName Name>
  void operator()(const Placed<A, P, Name>&) const {
    static_assert(std::same_as<P, Sharded<last>>,
                  "RowLinear takes a value sharded along its last dimension: what a ColumnLinear gives, or shard<last>(x)");
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight);
    v("bias", bias);
  }

  ShardedParameter<T> weight;
  Tensor<T> bias;
};

}  // namespace minitorch::parallel
