// Collectives as operations on tensors: each with its backward, which is a collective again. The moves are made of these.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/parallel/axis.hpp>

namespace minitorch::parallel::detail {

template <Scalar T>
std::span<T> elements(T* data, std::int64_t count) {
  return {data, static_cast<std::size_t>(count)};
}

template <Scalar T>
Tensor<T> sum_ranks(const Tensor<T>& x, Communicator* comm);

// value     x
// gradient  the sum of dy over ranks
template <Scalar T>
Tensor<T> copy_ranks(const Tensor<T>& x, Communicator* comm) {
  if (comm->size() == 1) return x;
  return record_view("copy_ranks", x.detach(),
                     wrt(
                         x, [](const Tensor<T>& dy, Communicator* c) { return sum_ranks(dy, c); }, comm));
}

template <Scalar T>
void all_reduce_into(const Tensor<T>& x, T* out, Communicator& comm) {
  ++thread_state.collectives;
  comm.all_reduce(x.values(), elements(out, x.numel()));
}

// value     the sum of x over ranks
// gradient  dy
template <Scalar T>
Tensor<T> sum_ranks(const Tensor<T>& x, Communicator* comm) {
  if (comm->size() == 1) return x;
  const MemoryScope in_arena(comm->memory());  // ranks write their shares of the sum to each other
  return record<T>(
      "sum_ranks", x.shape(), [&](T* out) { all_reduce_into(x, out, *comm); },
      wrt(
          x, [](const Tensor<T>& dy, Communicator* c) { return copy_ranks(dy, c); }, comm));
}

// value     the sum of x over ranks
// gradient  the sum of dy over ranks
template <Scalar T>
Tensor<T> sum_both_ways(const Tensor<T>& x, Communicator* comm) {
  if (comm->size() == 1) return x;
  const MemoryScope in_arena(comm->memory());
  return record<T>(
      "sum_both_ways", x.shape(), [&](T* out) { all_reduce_into(x, out, *comm); },
      wrt(
          x, [](const Tensor<T>& dy, Communicator* c) { return sum_both_ways(dy, c); }, comm));
}

// Pieces of dimension `dim`, one after the other, into their places along it, or back.
template <Scalar T>
void interleave(std::int64_t pieces, const Shape& whole, int dim, T* joined, T* apart, bool join) {
  const std::int64_t outer = whole.product(0, dim), run = whole[dim] / pieces * whole.product(dim + 1, whole.rank());
  for (std::int64_t p = 0; p < pieces; ++p)
    for (std::int64_t o = 0; o < outer; ++o) {
      T* in_whole = joined + (o * pieces + p) * run;
      T* in_piece = apart + (p * outer + o) * run;
      if (join)
        std::copy_n(in_piece, run, in_whole);
      else
        std::copy_n(in_whole, run, in_piece);
    }
}

template <Scalar T>
void all_gather_into(const Tensor<T>& x, const Shape& whole, int dim, T* out, Communicator& comm) {
  ++thread_state.collectives;
  if (whole.product(0, dim) == 1) return comm.all_gather(x.values(), elements(out, whole.numel()));
  Workspace<T> apart(whole.numel());
  comm.all_gather(x.values(), elements(apart.data(), whole.numel()));
  interleave(comm.size(), whole, dim, out, apart.data(), true);
}

inline Shape scaled(Shape shape, int dim, std::int64_t times, std::int64_t divided) {
  if (shape[dim] % divided != 0)
    fail<ShapeError>("parallel: dimension ", dim, " of shape ", shape, " is not divisible by ", divided, " ranks");
  shape[dim] = shape[dim] / divided * times;
  return shape;
}

template <Scalar T>
Tensor<T> gather_sliced(const Tensor<T>& x, int dim, Communicator* comm);

// value     this rank's slice of dimension `dim`
// gradient  the slices of dy of all ranks, joined
template <Scalar T>
Tensor<T> slice_gathered(const Tensor<T>& x, int dim, Communicator* comm) {
  const Shape shape = scaled(x.shape(), dim, 1, comm->size());
  return record_view("slice_gathered", take_range(x.detach(), dim, shape[dim] * comm->rank(), shape[dim]),
                     wrt(
                         x, [](const Tensor<T>& dy, int d, Communicator* c) { return gather_sliced(dy, d, c); }, dim, comm));
}

// value     the slices x of all ranks, joined along `dim`
// gradient  this rank's slice of dy
template <Scalar T>
Tensor<T> gather_sliced(const Tensor<T>& x, int dim, Communicator* comm) {
  const Shape shape = scaled(x.shape(), dim, comm->size(), 1);
  return record<T>(
      "gather_sliced", shape, [&](T* out) { all_gather_into(x, shape, dim, out, *comm); },
      wrt(
          x, [](const Tensor<T>& dy, int d, Communicator* c) { return slice_gathered(dy, d, c); }, dim, comm));
}

template <Scalar T>
Tensor<T> gather_summed(const Tensor<T>& x, int dim, Communicator* comm);

// value     this rank's slice, along `dim`, of the sum of x over ranks
// gradient  the slices of dy of all ranks, joined
template <Scalar T>
Tensor<T> reduce_scatter(const Tensor<T>& x, int dim, Communicator* comm) {
  const Shape shape = scaled(x.shape(), dim, 1, comm->size());
  return record<T>(
      "reduce_scatter", shape,
      [&](T* out) {
        ++thread_state.collectives;
        if (x.shape().product(0, dim) == 1) return comm->reduce_scatter(x.values(), elements(out, shape.numel()));
        Workspace<T> apart(x.numel());
        interleave(comm->size(), x.shape(), dim, const_cast<T*>(x.data()), apart.data(), false);
        comm->reduce_scatter(elements(apart.data(), x.numel()), elements(out, shape.numel()));
      },
      wrt(
          x, [](const Tensor<T>& dy, int d, Communicator* c) { return gather_summed(dy, d, c); }, dim, comm));
}

// value     the slices x of all ranks, joined along `dim`
// gradient  this rank's slice of the sum of dy over ranks
template <Scalar T>
Tensor<T> gather_summed(const Tensor<T>& x, int dim, Communicator* comm) {
  const Shape shape = scaled(x.shape(), dim, comm->size(), 1);
  return record<T>(
      "gather_summed", shape, [&](T* out) { all_gather_into(x, shape, dim, out, *comm); },
      wrt(
          x, [](const Tensor<T>& dy, int d, Communicator* c) { return reduce_scatter(dy, d, c); }, dim, comm));
}

template <Scalar T>
Tensor<T> masked_to_first(const Tensor<T>& x, bool first);

// value     x
// gradient  dy on the first shard and zero elsewhere
template <Scalar T>
Tensor<T> copy_from_first(const Tensor<T>& x, bool first) {
  return record_view("copy_from_first", x.detach(),
                     wrt(
                         x, [](const Tensor<T>& dy, bool f) { return masked_to_first(dy, f); }, first));
}

// value     x on the first shard and zero elsewhere
// gradient  dy
template <Scalar T>
Tensor<T> masked_to_first(const Tensor<T>& x, bool first) {
  return record_view("masked_to_first", first ? x.detach() : zeros_like(x),
                     wrt(
                         x, [](const Tensor<T>& dy, bool f) { return copy_from_first(dy, f); }, first));
}

}  // namespace minitorch::parallel::detail
