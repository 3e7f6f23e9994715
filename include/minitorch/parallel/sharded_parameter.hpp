// A parameter cut along one dimension: this rank's shards, which start with exactly the bits of their slices of the whole.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/nn/init.hpp>
#include <minitorch/parallel/axis.hpp>

namespace minitorch::parallel {

// A module whose parts are leaves, one a local shard.
template <Scalar T>
struct ShardedParameter {
  std::vector<Tensor<T>> shards;
  Shape whole;  // the shape of the parameter without cuts
  int dim = 0;  // along which it is cut

  bool defined() const { return !shards.empty(); }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("shards", shards);
  }
};

// Shards of a parameter of shape `whole`, cut along `dim`, from one stream of random numbers: what nn::parameter would give, in slices.
// Throws ShapeError unless the shards divide the dimension.
template <Scalar T>
ShardedParameter<T> sharded_parameter(const Axis& axis, const Shape& whole, int dim, const nn::Init& init) {
  ShardedParameter<T> parameter{{}, whole, dim};
  const std::int64_t length = axis.shard_length(whole[dim], "sharded parameter");
  const std::uint64_t stream = thread_state.next_stream;
  for (int local = 0; local < axis.local_shards(); ++local) {
    nn::Window window = nn::Window::whole(whole);
    window.offset[dim] = length * axis.shard(local);
    window.local[dim] = length;
    thread_state.next_stream = stream;
    parameter.shards.push_back(nn::parameter<T>(window, init));
  }
  return parameter;
}

}  // namespace minitorch::parallel
