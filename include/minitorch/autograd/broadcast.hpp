// Broadcasting and its transpose: expand repeats, sum_to adds up what was repeated.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <minitorch/autograd/engine_ops.hpp>
#include <minitorch/autograd/record.hpp>
#include <minitorch/autograd/view.hpp>
#include <minitorch/kernels/convert.hpp>
#include <minitorch/kernels/map_broadcast.hpp>
#include <minitorch/kernels/reduce.hpp>
#include <minitorch/memory/workspace.hpp>

namespace minitorch {

namespace detail {

// A run of neighbouring dimensions that are all summed away, as [outer, reduce, inner].
struct ReducedRun {
  std::int64_t outer, reduce, inner;
};

// Sums x into out by the runs of dimensions in which `to` (padded with ones in front) is smaller, or takes the means of these runs.
// Kept wide until the last run.
template <Scalar T>
void sum_runs(const T* x, const Shape& from, const Shape& to, T* out, bool mean = false) {
  using Wide = compute_t<T>;
  const int pad = from.rank() - to.rank();
  std::array<ReducedRun, max_rank> runs;
  int count = 0;
  Shape left = from;  // what is left after the runs so far, taken from the back
  for (int d = from.rank() - 1; d >= 0; --d) {
    const auto summed = [&](int dim) { return (dim < pad ? 1 : to[dim - pad]) != from[dim]; };
    if (!summed(d)) continue;
    int first = d;
    while (first > 0 && summed(first - 1)) --first;
    runs[static_cast<std::size_t>(count++)] = {left.product(0, first), left.product(first, d + 1), left.product(d + 1, from.rank())};
    for (int r = first; r <= d; ++r) left[r] = 1;
    d = first;
  }
  const auto sum = [&](int r, const auto* in, auto* result) {
    const ReducedRun& run = runs[static_cast<std::size_t>(r)];
    kernels::reduce<kernels::Sum>(run.outer, run.reduce, run.inner, in, result, mean ? static_cast<double>(run.reduce) : 1);
  };
  if (count == 0) return kernels::convert(from.numel(), out, x);
  if (count == 1) return sum(0, x, out);
  Workspace<Wide> part(runs[0].outer * runs[0].inner);
  sum(0, x, part.data());
  for (int r = 1; r + 1 < count; ++r) {
    Workspace<Wide> next(runs[static_cast<std::size_t>(r)].outer * runs[static_cast<std::size_t>(r)].inner);
    sum(r, static_cast<const Wide*>(part.data()), next.data());
    std::copy_n(next.data(), runs[static_cast<std::size_t>(r)].outer * runs[static_cast<std::size_t>(r)].inner, part.data());
  }
  sum(count - 1, static_cast<const Wide*>(part.data()), out);
}

}  // namespace detail

template <Scalar T>
Tensor<T> sum_to(const Tensor<T>& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  if (!(broadcast_shapes(x.shape(), shape, "sum_to") == x.shape()))
    fail<ShapeError>("sum_to: shape ", shape, " does not broadcast to ", x.shape());
  return record<T>(
      "sum_to", shape, [&](T* out) { detail::sum_runs(x.data(), x.shape(), shape, out); },
      wrt(
          x, [](const Tensor<T>& dy, const Shape& from) { return expand(dy, from); }, x.shape()));
}

template <Element T>
Tensor<T> expand(const Tensor<T>& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  if (!(broadcast_shapes(x.shape(), shape, "expand") == shape))
    fail<ShapeError>("expand: shape ", x.shape(), " does not broadcast to ", shape);
  const auto repeat = [&](T* out) {
    kernels::map_broadcast(
        shape, [](const auto& a) { return a; }, out, kernels::broadcast_operand(x.data(), x.shape()));
  };
  if constexpr (Scalar<T>) {
    return record<T>("expand", shape, repeat, wrt(x, pass_on));  // the engine undoes the broadcast
  } else {
    return compute<T>("expand", shape, repeat);
  }
}

}  // namespace minitorch
