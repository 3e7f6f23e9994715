// Optimizer<T, Rule>: parameter groups, states and one pass over memory a step. A rule is the arithmetic of one element.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/kernels/convert.hpp>
#include <minitorch/kernels/map.hpp>
#include <minitorch/kernels/random.hpp>
#include <minitorch/kernels/stochastic_rounding.hpp>

namespace minitorch::optim {

// Parameters that share options. Their names key the saved state.
template <Scalar T, class Options>
struct Group {
  std::vector<NamedParameter<T>> parameters;
  Options options;
};

// A Rule has `Options` (with lr), `states` (the names of what it keeps for each element, all zero at first), `check(options)`, and
// `with_update<C>(options, step, run)`, which calls run(count, f): f(p, g, s...) returns the tuple of the new parameter and the new
// values of the first `count` states, for Packs of C. Narrow parameters keep a float master, from which they are rounded, or are
// rounded stochastically.
template <Scalar T, class Rule>
class Optimizer {
 public:
  using Options = typename Rule::Options;
  using Wide = compute_t<T>;

  // All parameters of a module. Throws ArgumentError for options out of range or a parameter of another scalar type.
  template <Module M>
  explicit Optimizer(M& module, Options options = {}) : Optimizer(std::vector<Group<T, Options>>{{named_parameters<T>(module), options}}) {}

  // These tensors, named by their position.
  explicit Optimizer(const std::vector<Tensor<T>>& parameters, Options options = {}) : Optimizer(numbered(parameters, options)) {}

  // Throws ArgumentError for a parameter that is there twice, has the name of another, or does not require a gradient.
  explicit Optimizer(std::vector<Group<T, Options>> groups) : groups_(std::move(groups)) {
    for (const auto& group : groups_) {
      Rule::check(group.options);
      for (const NamedParameter<T>& parameter : group.parameters) add(parameter);
    }
  }

  void zero_grad() {
    for_each([](NamedParameter<T>& parameter, auto&&...) { parameter.tensor.zero_grad(); });
  }

  // Updates every parameter that has a gradient.
  void step();

  std::vector<Group<T, Options>>& groups() { return groups_; }

  // Sets the learning rate of all groups: what a schedule gives.
  void set_lr(double lr) {
    for (auto& group : groups_) group.options.lr = lr;
  }

  // From now on narrow parameters have no float master: each step rounds them up or down by chance, so that small updates count on
  // average. That saves four bytes an element and brings noise of the size of the rounding. The numbers depend on the seed, the parameter's
  // place in the groups and its count of steps: a run that is resumed with the same seed has the same bits.
  void round_stochastically(std::uint64_t seed) requires is_narrow<T> { rounding_seed_ = seed; }

  // All parameters in the order of their groups.
  std::vector<Tensor<T>> parameters() {
    std::vector<Tensor<T>> all;
    for_each([&](NamedParameter<T>& parameter, auto&&...) { all.push_back(parameter.tensor); });
    return all;
  }

  // What has been kept: "NAME.step", the states by the rule's names, "NAME.master" for narrow parameters, "group.N.lr".
  StateDict state_dict();

  // Takes the states of an equal optimizer; a parameter of which nothing is there starts anew. Throws ArgumentError that lists every name
  // that does not fit or is missing; then nothing was changed.
  void load_state_dict(const StateDict& from);

 private:
  struct State {
    std::int64_t step = 0;
    std::vector<Tensor<Wide>> moments;
    Tensor<Wide> master;
  };

  static std::vector<Group<T, Options>> numbered(const std::vector<Tensor<T>>& parameters, const Options& options) {
    Group<T, Options> group{{}, options};
    for (const Tensor<T>& parameter : parameters) group.parameters.push_back({concat(group.parameters.size()), parameter});
    return {std::move(group)};
  }

  void add(const NamedParameter<T>& parameter);

  bool knows(const std::string& name) const;

  // f(parameter, its state, the options of its group).
  template <class F>
  void for_each(F&& f) {
    std::size_t next = 0;
    for (auto& group : groups_)
      for (NamedParameter<T>& parameter : group.parameters) f(parameter, states_[next++], std::as_const(group.options));
  }

  template <class F, std::size_t... Index>
  static void update(Tensor<T>& parameter, const Tensor<Wide>& gradient, State& state, F f, std::index_sequence<Index...>) {
    const std::int64_t n = parameter.numel();
    const std::array<Wide*, sizeof...(Index)> moments{state.moments[Index].mutable_data()...};
    if constexpr (is_narrow<T>) {
      refresh_master(parameter, state);
      Wide* master = state.master.mutable_data();
      kernels::map(
          n,
          [f](const auto& p, const auto& g, const auto&... s) __attribute__((always_inline)) {
            const auto next = f(p, g, s...);
            return std::tuple_cat(std::make_tuple(std::get<0>(next)), next);
          },
          std::make_tuple(parameter.mutable_data(), master, moments[Index]...), static_cast<const Wide*>(master), gradient.data(),
          static_cast<const Wide*>(moments[Index])...);
    } else {
      T* data = parameter.mutable_data();
      kernels::map(n, f, std::make_tuple(data, moments[Index]...), static_cast<const T*>(data), gradient.data(),
                   static_cast<const Wide*>(moments[Index])...);
    }
  }

  // The same without a master. `stream` tells the random numbers of this parameter and step.
  template <class F, std::size_t... Index>
  static void update_by_chance(Tensor<T>& parameter, const Tensor<Wide>& gradient, State& state, kernels::RandomKey stream, F f,
                               std::index_sequence<Index...>) {
    state.master = {};  // a loaded one
    const std::array<Wide*, sizeof...(Index)> moments{state.moments[Index].mutable_data()...};
    T* data = parameter.mutable_data();
    Tensor<Wide> chance = Tensor<Wide>::empty(parameter.shape());
    kernels::fill_uniform<Wide>(kernels::Window::whole(parameter.shape()), stream, 0, 1, chance.mutable_data());
    kernels::map(
        parameter.numel(),
        [f](const auto& p, const auto& g, const auto& u, const auto&... s) __attribute__((always_inline)) {
          auto next = f(p, g, s...);
          std::get<0>(next) = kernels::round_stochastically<T>(std::get<0>(next), u);
          return next;
        },
        std::make_tuple(data, moments[Index]...), static_cast<const T*>(data), gradient.data(), static_cast<const Wide*>(chance.data()),
        static_cast<const Wide*>(moments[Index])...);
  }

  // The master follows a parameter that somebody else has written to, and keeps its own bits where it still rounds to it.
  static void refresh_master(const Tensor<T>& parameter, State& state) {
    if (!state.master.defined()) {
      state.master = parameter.template to<Wide>();
      return;
    }
    const Tensor<T> rounded = state.master.template to<T>();
    if (std::memcmp(rounded.data(), parameter.data(), static_cast<std::size_t>(parameter.numel()) * sizeof(T)) == 0) return;
    Wide* master = state.master.mutable_data();
    for (std::int64_t i = 0; i < parameter.numel(); ++i)
      if (std::memcmp(rounded.data() + i, parameter.data() + i, sizeof(T)) != 0) master[i] = static_cast<Wide>(parameter.data()[i]);
  }

  std::vector<Group<T, Options>> groups_;
  std::vector<State> states_;        // in the order of the groups
  std::vector<const Node*> leaves_;  // the same
  std::vector<std::string> names_;   // the same
  std::optional<std::uint64_t> rounding_seed_;
};

template <Scalar T, class Rule>
void Optimizer<T, Rule>::step() {
  const NoGrad guard;
  std::uint64_t place = 0;
  for_each([&](NamedParameter<T>& parameter, State& state, const Options& options) {
    const std::uint64_t stream = place++ << 32;
    const Tensor<Wide> gradient = parameter.tensor.grad();
    if (!gradient.defined()) return;
    ++state.step;
    Rule::template with_update<Wide>(options, state.step, [&](auto count, auto f) {
      state.moments.resize((std::max)(state.moments.size(), static_cast<std::size_t>(count())));
      for (Tensor<Wide>& slot : state.moments)
        if (!slot.defined()) slot = zeros<Wide>(parameter.tensor.shape());
      constexpr auto moments = std::make_index_sequence<count()>{};
      if constexpr (is_narrow<T>) {
        if (rounding_seed_)
          return update_by_chance(parameter.tensor, gradient, state, {*rounding_seed_, stream | static_cast<std::uint64_t>(state.step)}, f,
                                  moments);
      }
      update(parameter.tensor, gradient, state, f, moments);
    });
  });
}

template <Scalar T, class Rule>
StateDict Optimizer<T, Rule>::state_dict() {
  StateDict out;
  for (std::size_t i = 0; i < groups_.size(); ++i) out.add(concat("group.", i, ".lr"), scalar<double>(groups_[i].options.lr));
  for_each([&](NamedParameter<T>& parameter, State& state, const Options&) {
    if (state.step == 0) return;
    out.add(parameter.name + ".step", scalar<std::int64_t>(state.step));
    for (std::size_t i = 0; i < state.moments.size(); ++i) out.add(parameter.name + '.' + Rule::states[i], state.moments[i]);
    if (state.master.defined()) out.add(parameter.name + ".master", state.master);
  });
  return out;
}

template <Scalar T, class Rule>
void Optimizer<T, Rule>::load_state_dict(const StateDict& from) {
  std::vector<State> loaded(states_.size());
  std::vector<double> rates;
  std::string problems;
  std::size_t used = 0, next = 0;
  const auto complain = [&](const auto&... text) { problems += concat(problems.empty() ? "" : "; ", text...); };
  const auto take = [&]<Element U>(const std::string& name, const Shape& shape, Tensor<U>& to) {
    const AnyTensor* found = from.find(name);
    if (found == nullptr) return false;
    ++used;
    if (found->dtype() == dtype_of<U> && found->shape() == shape)
      to = found->template as<U>().clone();
    else
      complain(name, " is ", dtype_name(found->dtype()), ' ', found->shape(), " but must be ", dtype_name(dtype_of<U>), ' ', shape);
    return true;
  };
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Tensor<double> lr = scalar<double>(groups_[i].options.lr);
    take(concat("group.", i, ".lr"), {}, lr);
    rates.push_back(lr.item());
  }
  for_each([&](NamedParameter<T>& parameter, State&, const Options& options) {
    State& state = loaded[next++];
    Tensor<std::int64_t> step = scalar<std::int64_t>(0);
    const bool has_step = take(parameter.name + ".step", {}, step);
    state.step = step.item();
    std::size_t expected = 0;
    if (has_step) Rule::template with_update<Wide>(options, state.step, [&](auto count, auto) { expected = std::size_t{count()}; });
    bool has_moments = false;
    for (std::size_t i = 0; i < Rule::states.size(); ++i) {
      const std::string name = parameter.name + '.' + Rule::states[i];
      Tensor<Wide> slot;
      const bool found = take(name, parameter.tensor.shape(), slot);
      has_moments |= found;
      if (!found && i < expected) complain(name, " is missing");
      if (found) state.moments.push_back(std::move(slot));
    }
    if (has_moments && !has_step) complain(parameter.name, ".step is missing");
    if constexpr (is_narrow<T>) take(parameter.name + ".master", parameter.tensor.shape(), state.master);
  });
  if (used != from.size())
    for (const auto& [name, tensor] : from)
      if (!knows(name)) complain(name, " is unexpected");
  if (!problems.empty()) fail<ArgumentError>("load_state_dict: ", problems);
  states_ = std::move(loaded);
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].options.lr = rates[i];
}

template <Scalar T, class Rule>
void Optimizer<T, Rule>::add(const NamedParameter<T>& parameter) {
  if (!parameter.tensor.requires_grad() || !parameter.tensor.is_leaf())
    fail<ArgumentError>("optimizer: ", parameter.name, " of shape ", parameter.tensor.shape(), " is not a leaf that requires a gradient");
  const Node* leaf = parameter.tensor.body()->node.get();
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (leaves_[i] == leaf || names_[i] == parameter.name)
      fail<ArgumentError>("optimizer: the parameter ", parameter.name, " is there twice", names_[i] == parameter.name ? "" : ", also as ",
                          names_[i] == parameter.name ? "" : names_[i]);
  leaves_.push_back(leaf);
  names_.push_back(parameter.name);
  states_.emplace_back();
}

template <Scalar T, class Rule>
bool Optimizer<T, Rule>::knows(const std::string& name) const {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return false;
  const std::string owner = name.substr(0, dot), what = name.substr(dot + 1);
  for (std::size_t i = 0; i < groups_.size(); ++i)
    if (owner == concat("group.", i)) return what == "lr";
  if (std::find(names_.begin(), names_.end(), owner) == names_.end()) return false;
  if (what == "step" || (is_narrow<T> && what == "master")) return true;
  return std::find(Rule::states.begin(), Rule::states.end(), what) != Rule::states.end();
}

// Two groups of a module's parameters, by rank: matrices and embeddings get `options`, biases and norms (fewer than two dimensions)
// the same without weight decay.
template <Scalar T, class Options, Module M>
std::vector<Group<T, Options>> decay_groups(M& module, Options options) {
  Options without = options;
  without.weight_decay = 0;
  std::vector<Group<T, Options>> groups{{{}, options}, {{}, without}};
  for (auto& parameter : named_parameters<T>(module)) groups[parameter.tensor.rank() >= 2 ? 0 : 1].parameters.push_back(parameter);
  return groups;
}

}  // namespace minitorch::optim
