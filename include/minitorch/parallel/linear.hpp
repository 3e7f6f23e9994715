// Linear layers over a group of ranks: cut by columns (outputs) or by rows (inputs).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <minitorch/nn/linear.hpp>
#include <minitorch/ops/linear.hpp>
#include <minitorch/parallel/moves.hpp>
#include <minitorch/parallel/rules.hpp>
#include <minitorch/parallel/sharded_parameter.hpp>

namespace minitorch::parallel {

namespace detail {

// value     x W^T for x [..., in] and W [out, in], in the accumulation type
// gradient  dy W, dy^T x, with dy rounded to x's type
// saves     x and W
template <Scalar A, Scalar W>
Tensor<compute_t<A>> wide_linear(const Tensor<A>& x, const Tensor<W>& weight) {
  if constexpr (!is_narrow<A>) {
    return linear(x, weight);
  } else {
    minitorch::detail::check_linear(x, weight, Tensor<W>{});
    const std::int64_t out_width = weight.shape()[0], in_width = weight.shape()[1], rows = x.numel() / in_width;
    Shape shape = x.shape();
    shape[x.rank() - 1] = out_width;
    return record<compute_t<A>>(
        "wide_linear", shape,
        [&](compute_t<A>* out) {
          run_product(Product<A, W>{x, weight, false, true, 1, rows, out_width, in_width}, out, false);
        },
        wrt(
            x,
            [](const Tensor<compute_t<A>>& dy, const Tensor<W>& w, std::int64_t m) {
              return Product<A, W>{dy.template to<A>(), w, false, false, 1, m, w.shape()[1], w.shape()[0]};
            },
            weight, rows),
        wrt(
            weight,
            [](const Tensor<compute_t<A>>& dy, const Tensor<A>& input, std::int64_t m) {
              return Product<A, A>{dy.template to<A>(), input, true, false, 1, dy.shape().back(), input.shape().back(), m};
            },
            x, rows));
  }
}

// value     x + bias on the first shard, x elsewhere
// gradient  dy; for the bias the sum of dy's rows on every rank, because the gradient of a Partial value is whole everywhere
// saves     nothing
template <Scalar A, Scalar W>
Tensor<A> add_once(const Tensor<A>& x, const Tensor<W>& bias, bool first) {
  Tensor<A> value = no_grad([&] { return first ? add(x, bias.template to<A>()) : x.detach(); });
  return record_view("add_once", std::move(value), wrt(x, [](const Tensor<A>& dy) { return dy; }),
                     wrt(bias, [](const Tensor<A>& dy) { return minitorch::detail::sum_rows(dy, dy.shape().back()).template to<W>(); }));
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
    for (std::size_t i = 0; i < weight.shards.size(); ++i) parts.push_back(detail::wide_linear(x.parts()[i], weight.shards[i]));
    if (bias.defined()) parts[0] = detail::add_once(parts[0], bias, x.axis().shard(0) == 0);
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
