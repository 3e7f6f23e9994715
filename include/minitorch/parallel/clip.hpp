// The norm of all gradients of a model whose parameters are partly sharded, and clipping by it: the same number on every rank.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/kernels/map.hpp>
#include <minitorch/kernels/reduce.hpp>
#include <minitorch/parallel/state.hpp>

namespace minitorch::parallel {

namespace detail {

template <Scalar T>
double sum_of_squares(const Tensor<T>& gradient) {
  double sum = 0;
  if (gradient.defined()) kernels::reduce<kernels::SumSquares>(1, gradient.numel(), 1, gradient.data(), &sum);
  return sum;
}

}  // namespace detail

// The 2-norm of the gradients of all parameters, each element counted once: shards are added over ranks by the tree, parameters in the
// order of visits, all in double. Called by all ranks of the axis.
template <Module M>
double grad_norm(M& model, const Axis& axis) {
  std::vector<std::vector<double>> by_shard(static_cast<std::size_t>(axis.local_shards()));
  std::vector<double> squares;       // of each parameter; those of sharded ones follow from the sum over ranks
  std::vector<std::size_t> sharded;  // their places in it
  std::vector<const Node*> seen;     // a tied parameter is one
  detail::for_each_whole(
      model,
      [&]<Scalar T>(const std::string&, ShardedParameter<T>& parameter) {
        const Node* leaf = parameter.shards.front().body()->node.get();
        if (leaf == nullptr || std::find(seen.begin(), seen.end(), leaf) != seen.end()) return;
        seen.push_back(leaf);
        for (std::size_t i = 0; i < parameter.shards.size(); ++i) by_shard[i].push_back(detail::sum_of_squares(parameter.shards[i].grad()));
        sharded.push_back(squares.size());
        squares.push_back(0);
      },
      [&]<Element T>(const std::string&, Tensor<T>& parameter) {
        if constexpr (Scalar<T>) {
          const Node* leaf = parameter.body()->node.get();
          if (leaf == nullptr || std::find(seen.begin(), seen.end(), leaf) != seen.end()) return;
          seen.push_back(leaf);
          squares.push_back(detail::sum_of_squares(parameter.grad()));
        }
      });
  for (std::size_t left = by_shard.size(); left > 1; left /= 2)
    for (std::size_t i = 0; i < left / 2; ++i)
      for (std::size_t p = 0; p < sharded.size(); ++p) by_shard[i][p] = by_shard[2 * i][p] + by_shard[2 * i + 1][p];
  ++thread_state.collectives;
  axis.comm().all_reduce(by_shard.front());
  for (std::size_t p = 0; p < sharded.size(); ++p) squares[sharded[p]] = by_shard.front()[p];
  double sum = 0;
  for (double s : squares) sum += s;
  return std::sqrt(sum);
}

// Scales all gradients by min(1, max_norm / (norm + 1e-6)) and returns the norm before.
template <Module M>
double clip_grad_norm_(M& model, const Axis& axis, double max_norm) {
  const double norm = grad_norm(model, axis), factor = (std::min)(1.0, max_norm / (norm + 1e-6));
  std::vector<const void*> scaled;
  for_each_parameter(model, [&](const std::string&, auto& parameter) {
    auto gradient = parameter.grad();
    if (!gradient.defined() || std::find(scaled.begin(), scaled.end(), gradient.data()) != scaled.end()) return;
    scaled.push_back(gradient.data());
    using Wide = typename decltype(gradient)::value_type;
    const NoGrad writing;
    Wide* const data = gradient.mutable_data();
    kernels::map(
        gradient.numel(), [f = static_cast<Wide>(factor)](const auto& g) { return g * f; }, data, static_cast<const Wide*>(data));
  });
  return norm;
}

}  // namespace minitorch::parallel
