// Operations of their own kind on placed values: dropout with the bits of the whole, normalisation with parameters that every rank has.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <minitorch/autograd/checkpoint.hpp>
#include <minitorch/ops/dropout.hpp>
#include <minitorch/ops/layer_norm.hpp>
#include <minitorch/parallel/moves.hpp>
#include <minitorch/parallel/rules.hpp>

namespace minitorch::parallel {

// Drops what dropout of the whole value would drop: the same on every rank if whole, a slice of it if sharded.
template <Scalar T, PlacementTag P, AxisName Name>
Placed<T, P, Name> apply_operation(const DropoutOp& op, const Placed<T, P, Name>& x, double p) {
  static_assert(!std::same_as<P, Partial>, "dropout of a Partial value: all_reduce or reduce_scatter it first");
  const std::uint64_t stream = thread_state.next_stream;
  std::vector<Tensor<T>> parts;
  for (std::size_t i = 0; i < x.parts().size(); ++i) {
    kernels::Window window = batch_window(x.shape());
    if constexpr (is_sharded<P>) {
      const int dim = x.shape().dim(P::dim, "dropout");
      window.offset[dim] += x.shape()[dim] * x.axis().shard(static_cast<int>(i));
      window.global[dim] = x.shape()[dim] * x.axis().shards();
    }
    thread_state.next_stream = stream;
    parts.push_back(op(x.parts()[i], p, window));
  }
  return {x.axis(), std::move(parts)};
}

namespace detail {

// A row-wise operation with parameters that are the same on every rank: with a whole value they stay so; with a sharded one each shard
// gives a part of their gradient.
template <class Op, Scalar T, PlacementTag P, AxisName Name, Scalar W, class Call>
Placed<T, P, Name> normalised(const Op&, const Placed<T, P, Name>& x, const std::vector<Tensor<W>>& parameters, Call call) {
  static_assert(!std::same_as<P, Partial>,
                "normalisation of a Partial value is wrong: it is not linear. all_reduce or reduce_scatter it first");
  static_assert(!std::same_as<P, Replicated>, "normalise the Invariant value and replicate the result");
  static_assert(!std::same_as<P, Sharded<last>>, "normalisation needs the whole last dimension, but it is sharded; all_gather it first");
  if constexpr (is_sharded<P>) {
    if (P::dim == x.shape().rank() - 1) fail<ShapeError>("normalisation: the last dimension of shape ", x.shape(), " is sharded");
  }
  std::vector<std::vector<Tensor<W>>> copies;
  for (const Tensor<W>& parameter : parameters) {
    if constexpr (std::same_as<P, Invariant>)
      copies.push_back({parameter});
    else
      copies.push_back(replicated(parameter, x.axis().local_shards(), [&](const auto& p) { return copy_ranks(p, &x.comm()); }));
  }
  std::vector<Tensor<T>> parts;
  for (std::size_t i = 0; i < x.parts().size(); ++i) parts.push_back(call(x.parts()[i], copies, i));
  return {x.axis(), std::move(parts)};
}

}  // namespace detail

template <Scalar T, PlacementTag P, AxisName Name, Scalar W>
auto apply_operation(const LayerNormOp& op, const Placed<T, P, Name>& x, const Tensor<W>& weight, const Tensor<W>& bias, double eps) {
  return detail::normalised(op, x, std::vector<Tensor<W>>{weight, bias}, [&](const Tensor<T>& part, const auto& copies, std::size_t i) {
    return op(part, copies[0][i], copies[1][i], eps);
  });
}
template <Scalar T, PlacementTag P, AxisName Name, Scalar W>
auto apply_operation(const RmsNormOp& op, const Placed<T, P, Name>& x, const Tensor<W>& weight, double eps) {
  return detail::normalised(op, x, std::vector<Tensor<W>>{weight},
                            [&](const Tensor<T>& part, const auto& copies, std::size_t i) { return op(part, copies[0][i], eps); });
}

}  // namespace minitorch::parallel

namespace minitorch::detail {

// checkpoint() keeps the parts of a placed value as it keeps tensors.
template <Scalar T, class P, parallel::AxisName Name>
struct KeptArgument<parallel::Placed<T, P, Name>> {
  using Value = parallel::Placed<T, P, Name>;
  parallel::Axis axis;
  std::vector<KeptArgument<typename Value::Part>> parts;

  explicit KeptArgument(const Value& value) : axis(value.axis()) {
    for (const auto& part : value.parts()) parts.emplace_back(part);
  }
  Value get() const {
    std::vector<typename Value::Part> values;
    for (const auto& part : parts) values.push_back(part.get());
    return {axis, std::move(values)};
  }
};

}  // namespace minitorch::detail
