// Moves between placements: the only places where ranks talk, each with its backward.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <minitorch/ops/concatenate.hpp>
#include <minitorch/parallel/collectives.hpp>
#include <minitorch/parallel/placement.hpp>

namespace minitorch::parallel {

namespace detail {

// The sum of a power of two of tensors by the tree that ranks use: neighbours first.
template <Scalar T>
Tensor<T> tree_sum(std::vector<Tensor<T>> parts) {
  for (std::size_t left = parts.size(); left > 1; left /= 2)
    for (std::size_t i = 0; i < left / 2; ++i) parts[i] = add(parts[2 * i], parts[2 * i + 1]);
  return parts.front();
}

// `count` handles of type T on x, whose gradients are added by the tree rather than in the order of their arrival. A narrow value comes
// in the accumulation type, so that its gradients are rounded once they are all added.
template <Scalar T>
std::vector<Tensor<T>> replicas(const Tensor<compute_t<T>>& x, int count) {
  using W = compute_t<T>;
  Shape stacked;
  stacked.push_back(count);
  for (std::int64_t d : x.shape()) stacked.push_back(d);
  // A node for the stacked gradients. It has no data of its own, and nobody reads any.
  Tensor<W> hub(BodyRef(new TensorBody(dtype_of<W>, stacked, x.body()->buffer, x.body()->data)));
  hub = record_view("replicas", hub, wrt(x, [](const Tensor<W>& dy) {
                      std::vector<Tensor<W>> slices;
                      for (std::int64_t i = 0; i < dy.shape()[0]; ++i) slices.push_back(dy[i]);
                      return tree_sum(std::move(slices));
                    }));
  const Tensor<T> value = no_grad([&] { return x.detach().template to<T>(); });
  std::vector<Tensor<T>> handles;
  for (std::int64_t i = 0; i < count; ++i) {
    handles.push_back(record_view("replica", value.detach(),
                                  wrt(
                                      hub,
                                      [](const Tensor<T>& dy, std::int64_t place) {
                                        Shape row;
                                        row.push_back(1);
                                        for (std::int64_t d : dy.shape()) row.push_back(d);
                                        return Placement<W>{dy.template to<W>().reshape(row), 0, place};
                                      },
                                      i)));
  }
  return handles;
}

// The parts of a Replicated value, made from x by exchange(x), a function of any scalar type whose backward is the sum over ranks. A rank
// with one shard exchanges what is as wide as x; the sum over ranks is rounded once all the same.
template <Scalar T, class Exchange>
std::vector<Tensor<T>> replicated(const Tensor<T>& x, int count, Exchange exchange) {
  if (count == 1) return {exchange(x)};
  return replicas<T>(exchange(x.template to<compute_t<T>>()), count);
}

// x cut along `dim` into `count` equal parts.
template <Scalar T>
std::vector<Tensor<T>> cut(const Tensor<T>& x, int dim, int count) {
  if (count == 1) return {x};
  if (x.shape()[dim] % count != 0)
    fail<ShapeError>("shard: dimension ", dim, " of shape ", x.shape(), " is not divisible by ", count, " shards");
  const std::int64_t length = x.shape()[dim] / count;
  std::vector<Tensor<T>> parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(take_range(x, dim, i * length, length));
  return parts;
}

template <Scalar T>
Tensor<T> join(const std::vector<Tensor<T>>& parts, int dim) {
  return parts.size() == 1 ? parts.front() : concatenate(std::span<const Tensor<T>>(parts), dim);
}

}  // namespace detail

// Entering the world of placements: the same tensor on every rank.
template <AxisName Name = "ranks", Scalar T>
Placed<T, Invariant, Name> invariant(const Axis& axis, const Tensor<T>& x) {
  return {axis, {x}};
}

// Invariant -> Sharded<Dim>: each shard's slice. Backward: the slices joined. Throws ShapeError unless the shards divide the dimension.
template <int Dim, Scalar T, AxisName Name>
Placed<T, Sharded<Dim>, Name> shard(const Placed<T, Invariant, Name>& x) {
  const int dim = x.local().shape().dim(Dim, "shard");
  x.axis().shard_length(x.local().shape()[dim], "shard");
  return {x.axis(), detail::cut(detail::slice_gathered(x.local(), dim, &x.comm()), dim, x.axis().local_shards())};
}
// The slice of a tensor that is the same on every rank.
template <int Dim, AxisName Name = "ranks", Scalar T>
Placed<T, Sharded<Dim>, Name> shard(const Axis& axis, const Tensor<T>& x) {
  return shard<Dim>(invariant<Name>(axis, x));
}

// Invariant -> Replicated: nothing moves. Backward: the sum over ranks (Megatron's f).
template <Scalar T, AxisName Name>
Placed<T, Replicated, Name> replicate(const Placed<T, Invariant, Name>& x) {
  const auto copy = [&](const auto& value) { return detail::copy_ranks(value, &x.comm()); };
  return {x.axis(), detail::replicated(x.local(), x.axis().local_shards(), copy)};
}

// Partial -> Invariant: the sum over ranks. Backward: nothing moves (Megatron's g). With To = Replicated the backward is a sum as well.
template <PlacementTag To = Invariant, Scalar T, AxisName Name>
Placed<T, To, Name> all_reduce(const Placed<T, Partial, Name>& x) {
  static_assert(!is_sharded<To> && !std::same_as<To, Partial>,
                "all_reduce: the result is Invariant or Replicated; reduce_scatter<Dim> gives a Sharded one");
  const auto sum = detail::tree_sum(x.parts());
  if constexpr (std::same_as<To, Invariant>) {
    return {x.axis(), {detail::sum_ranks(sum, &x.comm()).template to<T>()}};
  } else {
    const auto both = detail::sum_both_ways(sum, &x.comm());
    if (x.axis().local_shards() == 1) return {x.axis(), {both.template to<T>()}};
    return {x.axis(), detail::replicas<T>(both, x.axis().local_shards())};
  }
}

// Partial -> Sharded<Dim>: each shard's slice of the sum. Backward: the slices joined.
template <int Dim, Scalar T, AxisName Name>
Placed<T, Sharded<Dim>, Name> reduce_scatter(const Placed<T, Partial, Name>& x) {
  const int dim = x.shape().dim(Dim, "reduce_scatter");
  x.axis().shard_length(x.shape()[dim], "reduce_scatter");
  const auto slice = detail::reduce_scatter(detail::tree_sum(x.parts()), dim, &x.comm()).template to<T>();
  return {x.axis(), detail::cut(slice, dim, x.axis().local_shards())};
}

// Sharded<Dim> -> Invariant: the slices joined. Backward: this rank's slice. With To = Replicated the backward is a reduce-scatter.
template <PlacementTag To = Invariant, Scalar T, int Dim, AxisName Name>
Placed<T, To, Name> all_gather(const Placed<T, Sharded<Dim>, Name>& x) {
  static_assert(!is_sharded<To> && !std::same_as<To, Partial>, "all_gather: the result is Invariant or Replicated");
  const int dim = x.shape().dim(Dim, "all_gather");
  const Tensor<T> joined = detail::join(x.parts(), dim);
  const auto gather = [&](const auto& value) { return detail::gather_summed(value, dim, &x.comm()); };
  if constexpr (std::same_as<To, Invariant>)
    return {x.axis(), {detail::gather_sliced(joined, dim, &x.comm())}};
  else
    return {x.axis(), detail::replicated(joined, x.axis().local_shards(), gather)};
}

// Invariant -> Partial: the value on the first shard and zero on the others. Backward: nothing moves. Where a row-split layer's bias
// belongs: it is added once.
template <Scalar T, AxisName Name>
Placed<T, Partial, Name> partial(const Placed<T, Invariant, Name>& x) {
  const Tensor<compute_t<T>> value = x.local().template to<compute_t<T>>();
  std::vector<Tensor<compute_t<T>>> parts{detail::masked_to_first(value, x.axis().shard(0) == 0)};
  while (static_cast<int>(parts.size()) < x.axis().local_shards()) parts.push_back(zeros_like(value));
  return {x.axis(), std::move(parts)};
}

}  // namespace minitorch::parallel
