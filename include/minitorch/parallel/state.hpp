// Whole tensors from sharded ones and back: what is saved under one number of ranks loads under any other, and in the plain model.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

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
        Tensor<T> whole = detail::gather_sliced(detail::join(parameter.shards, parameter.dim), parameter.dim, &axis.comm());
        if (vocabulary > 0 && parameter.dim == 0 &&
            parameter.whole[0] == (vocabulary + axis.shards() - 1) / axis.shards() * axis.shards() &&
            (name == "token.weight" || name == "head.weight"))
          whole = take_range(whole, 0, 0, vocabulary);
        state.add(name, whole);
      },
      [&](const std::string& name, const auto& tensor) { state.add(name, tensor.detach().clone()); });
  return state;
}

// Gives the model its slices of a whole state. Throws ArgumentError for a missing name or another shape, before anything has changed.
template <Module M>
void load_whole_state_dict(M& model, const Axis& axis, const StateDict& state) {
  const auto check = [&](const std::string& name, DType type, const Shape& shape, bool padded) {
    const AnyTensor* found = state.find(name);
    if (found == nullptr) fail<ArgumentError>("load: ", name, " is missing");
    Shape have = found->shape();
    if (padded && have.rank() == shape.rank() && have[0] < shape[0]) have[0] = shape[0];
    if (found->dtype() != type || !(have == shape))
      fail<ArgumentError>("load: ", name, " is ", dtype_name(found->dtype()), ' ', found->shape(), " but must be ", dtype_name(type), ' ',
                          shape);
  };
  detail::for_each_whole(
      model, [&]<Scalar T>(const std::string& name, const ShardedParameter<T>& p) { check(name, dtype_of<T>, p.whole, p.dim == 0); },
      [&]<Element T>(const std::string& name, const Tensor<T>& t) { check(name, dtype_of<T>, t.shape(), false); });

  const NoGrad no_history;
  detail::for_each_whole(
      model,
      [&]<Scalar T>(const std::string& name, ShardedParameter<T>& parameter) {
        const Tensor<T> whole = state.at(name).template as<T>();
        for (std::size_t i = 0; i < parameter.shards.size(); ++i) {
          Tensor<T>& shard = parameter.shards[i];
          const std::int64_t length = shard.shape()[parameter.dim], first = length * axis.shard(static_cast<int>(i));
          const std::int64_t there = (std::clamp<std::int64_t>)(whole.shape()[parameter.dim] - first, 0, length);
          T* to = shard.mutable_data();
          if (there < length) std::fill_n(to, shard.numel(), T(0));
          const Tensor<T> slice = take_range(whole, parameter.dim, (std::min)(first, whole.shape()[parameter.dim]), there);
          if (there > 0) std::copy_n(slice.data(), slice.numel(), to);  // a shorter slice is one of the leading dimension
        }
      },
      [&]<Element T>(const std::string& name, Tensor<T>& tensor) {
        const Tensor<T> from = state.at(name).template as<T>();
        std::copy_n(from.data(), from.numel(), tensor.mutable_data());
      });
}

}  // namespace minitorch::parallel
