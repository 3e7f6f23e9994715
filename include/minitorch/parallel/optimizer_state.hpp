// An optimizer's states without cuts: what is saved under one number of ranks continues under any other, and with the plain model.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <minitorch/optim/optimizer.hpp>
#include <minitorch/parallel/state.hpp>

namespace minitorch::parallel {

namespace detail {

// A sharded parameter as optimizers know it: "NAME.shards.0", "NAME.shards.1", ...
struct Cut {
  std::string name;
  Shape whole, shard;
  int dim;
  int count;

  // "exp_avg" of "NAME.exp_avg", and nothing of what does not belong to it.
  std::string state_of(const std::string& entry) const {
    if (entry.size() < name.size() + 2 || entry.compare(0, name.size(), name) != 0 || entry[name.size()] != '.') return {};
    const std::string state = entry.substr(name.size() + 1);
    return state.find('.') == std::string::npos ? state : std::string();
  }
  std::string of_shard(int local, const std::string& state) const { return concat(name, ".shards.", local, '.', state); }
};

template <Module M>
std::vector<Cut> cuts_of(M& model) {
  std::vector<Cut> cuts;
  for_each_whole(
      model,
      [&]<Scalar T>(const std::string& name, const ShardedParameter<T>& p) {
        cuts.push_back({name, p.whole, p.shards.front().shape(), p.dim, static_cast<int>(p.shards.size())});
      },
      [](const std::string&, const auto&) {});
  return cuts;
}

}  // namespace detail

// The optimizer's state dict under the names of the plain model; called by all ranks of the axis. `vocabulary` as in whole_state_dict.
template <Scalar T, class Rule, Module M>
StateDict whole_optimizer_state(optim::Optimizer<T, Rule>& optimizer, M& model, const Axis& axis, std::int64_t vocabulary = 0) {
  using Wide = compute_t<T>;
  const NoGrad no_history;
  const StateDict local = optimizer.state_dict();
  StateDict whole;
  for (const auto& [name, tensor] : local)
    if (name.find(".shards.") == std::string::npos) whole.add(name, tensor);
  for (const detail::Cut& cut : detail::cuts_of(model)) {
    const std::string first = cut.of_shard(0, "");
    for (const auto& [name, tensor] : local) {
      if (name.compare(0, first.size(), first) != 0) continue;
      const std::string state = name.substr(first.size());
      if (!(tensor.shape() == cut.shard)) {  // a count of steps, the same for all shards
        whole.add(concat(cut.name, '.', state), tensor);
        continue;
      }
      std::vector<Tensor<Wide>> shards;
      for (int i = 0; i < cut.count; ++i) shards.push_back(local.at(cut.of_shard(i, state)).template as<Wide>());
      whole.add(concat(cut.name, '.', state), detail::whole_of(cut.name, shards, cut.whole, cut.dim, axis, vocabulary));
    }
  }
  return whole;
}

// Gives the optimizer its slices of a whole state. Throws ArgumentError that lists every name that does not fit; then nothing was changed.
template <Scalar T, class Rule, Module M>
void load_whole_optimizer_state(optim::Optimizer<T, Rule>& optimizer, M& model, const Axis& axis, const StateDict& whole) {
  using Wide = compute_t<T>;
  const NoGrad no_history;
  const std::vector<detail::Cut> cuts = detail::cuts_of(model);
  StateDict local;
  for (const auto& [name, tensor] : whole) {
    const detail::Cut* owner = nullptr;
    for (const detail::Cut& cut : cuts)
      if (!cut.state_of(name).empty()) owner = &cut;
    if (owner == nullptr) {
      local.add(name, tensor);
      continue;
    }
    const std::string state = owner->state_of(name);
    const bool cut_up = tensor.dtype() == dtype_of<Wide> && tensor.shape().rank() == owner->whole.rank() && owner->whole.rank() > 0;
    for (int i = 0; i < owner->count; ++i) {
      if (!cut_up) {
        local.add(owner->of_shard(i, state), tensor);
        continue;
      }
      Tensor<Wide> shard = Tensor<Wide>::empty(owner->shard);
      Shape have = tensor.shape();
      if (detail::is_padded(owner->name, have[0], owner->whole, owner->dim, axis)) have[0] = owner->whole[0];
      if (!(have == owner->whole)) fail<ArgumentError>("load: ", name, " is ", tensor.shape(), " but must be ", owner->whole);
      detail::fill_shard(shard, tensor.template as<Wide>(), owner->dim, axis.shard(i));
      local.add(owner->of_shard(i, state), shard);
    }
  }
  optimizer.load_state_dict(local);
}

}  // namespace minitorch::parallel
