// Whole tensors from sharded ones and back: what is saved under one number of ranks loads under any other, and in the plain model.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <minitorch/autograd/state_dict.hpp>
#include <minitorch/autograd/visit.hpp>
#include <minitorch/parallel/moves.hpp>
#include <minitorch/parallel/sharded_parameter.hpp>

namespace minitorch::parallel {

namespace detail {

template <class Part>
inline constexpr bool is_sharded_parameter = false;
template <Scalar T>
inline constexpr bool is_sharded_parameter<ShardedParameter<T>> = true;

// Calls on_shards(name, sharded parameter) and on_tensor(name, tensor) for all that a model holds, in the order of visits.
template <Module M, class OnShards, class OnTensor>
void for_each_whole(M& model, OnShards on_shards, OnTensor on_tensor) {
  std::string inside;  // the sharded parameter whose shards come next
  const auto tensor = [&]<Element T>(const std::string& name, Tensor<T>& value) {
    if (value.defined() && (inside.empty() || name.compare(0, inside.size(), inside) != 0)) on_tensor(name, value);
  };
  const auto visitor = [&]<class Part>(const std::string& name, Part& part) {
    if constexpr (is_sharded_parameter<Part>) {
      inside = name + ".shards.";
      if (part.defined()) on_shards(name, part);
    } else if constexpr (requires { tensor(name, part); }) {
      tensor(name, part);
    }
  };
  minitorch::detail::Walk::part({}, model, visitor);
}

// Whether a vocabulary's table or head of `rows` rows is saved for a padded one of whole[0].
inline bool is_padded(const std::string& name, std::int64_t rows, const Shape& whole, int dim, const Axis& axis) {
  return dim == 0 && (name == "token.weight" || name == "head.weight") &&
         whole[0] == (rows + axis.shards() - 1) / axis.shards() * axis.shards();
}

// The tensor that `shards` and those of the other ranks are cut from. Of a vocabulary's padded table the rows beyond it are cut off.
template <Scalar T>
Tensor<T> whole_of(const std::string& name, const std::vector<Tensor<T>>& shards, const Shape& whole, int dim, const Axis& axis,
                   std::int64_t vocabulary) {
  const Tensor<T> joined = gather_sliced(join(shards, dim), dim, &axis.comm());
  const bool padded = vocabulary > 0 && is_padded(name, vocabulary, whole, dim, axis);
  return padded ? take_range(joined, 0, 0, vocabulary) : joined;
}

// Gives a shard its slice of `whole`, with zeros where that ends before.
template <Scalar T>
void fill_shard(Tensor<T>& shard, const Tensor<T>& whole, int dim, int number) {
  const std::int64_t length = shard.shape()[dim], first = length * number;
  const std::int64_t there = (std::clamp<std::int64_t>)(whole.shape()[dim] - first, 0, length);
  T* to = shard.mutable_data();
  if (there < length) std::fill_n(to, shard.numel(), T(0));
  const Tensor<T> slice = take_range(whole, dim, (std::min)(first, whole.shape()[dim]), there);
  if (there > 0) std::copy_n(slice.data(), slice.numel(), to);  // a shorter slice is one of the leading dimension
}

}  // namespace detail

// The state dict of the model without cuts, under the names of the plain model; called by all ranks of the axis. `rows` of a padded
// vocabulary are cut off where whole[0] is larger than the plain model's.
template <Module M>
StateDict whole_state_dict(M& model, const Axis& axis, std::int64_t vocabulary = 0) {
  const NoGrad no_history;
  StateDict state;
  detail::for_each_whole(
      model,
      [&]<Scalar T>(const std::string& name, const ShardedParameter<T>& parameter) {
        state.add(name, detail::whole_of(name, parameter.shards, parameter.whole, parameter.dim, axis, vocabulary));
      },
      [&](const std::string& name, const auto& tensor) { state.add(name, tensor.detach().clone()); });
  return state;
}

// Gives the model its slices of a whole state. Throws ArgumentError for a missing name or another shape, before anything has changed.
template <Module M>
void load_whole_state_dict(M& model, const Axis& axis, const StateDict& state) {
  const auto check = [&](const std::string& name, DType type, const Shape& shape, int dim) {
    const AnyTensor* found = state.find(name);
    if (found == nullptr) fail<ArgumentError>("load: ", name, " is missing");
    Shape have = found->shape();
    if (have.rank() == shape.rank() && have.rank() > 0 && detail::is_padded(name, have[0], shape, dim, axis)) have[0] = shape[0];
    if (found->dtype() != type || !(have == shape))
      fail<ArgumentError>("load: ", name, " is ", dtype_name(found->dtype()), ' ', found->shape(), " but must be ", dtype_name(type), ' ',
                          shape);
  };
  detail::for_each_whole(
      model, [&]<Scalar T>(const std::string& name, const ShardedParameter<T>& p) { check(name, dtype_of<T>, p.whole, p.dim); },
      [&]<Element T>(const std::string& name, const Tensor<T>& t) { check(name, dtype_of<T>, t.shape(), -1); });

  const NoGrad no_history;
  detail::for_each_whole(
      model,
      [&]<Scalar T>(const std::string& name, ShardedParameter<T>& parameter) {
        const Tensor<T> whole = state.at(name).template as<T>();
        for (std::size_t i = 0; i < parameter.shards.size(); ++i)
          detail::fill_shard(parameter.shards[i], whole, parameter.dim, axis.shard(static_cast<int>(i)));
      },
      [&]<Element T>(const std::string& name, Tensor<T>& tensor) {
        const Tensor<T> from = state.at(name).template as<T>();
        std::copy_n(from.data(), from.numel(), tensor.mutable_data());
      });
}

}  // namespace minitorch::parallel
