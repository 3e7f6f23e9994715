// record(): one operation, one place: a forward pass that fills the result, and a rule per input.
// SPDX-License-Identifier: MIT
#pragma once

// A captureless rule is a type: it costs a node no memory.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>

#include <minitorch/autograd/compute.hpp>
#include <minitorch/autograd/op_node.hpp>
#include <minitorch/autograd/tensor.hpp>

namespace minitorch {

// In a list of what a rule needs: the operation's own result.
struct Result {};
inline constexpr Result result;

// The rule of an input whose gradient is the result's own.
struct PassOn {
  template <Scalar T>
  const Tensor<T>& operator()(const Tensor<T>& dy) const {
    return dy;
  }
};
inline constexpr PassOn pass_on;

namespace detail {

// How a needed value is kept: a tensor or the result in a slot of the node, anything else as it is.
template <class Arg>
struct Kept {
  static constexpr bool in_slot = false;
  using Value = Arg;
};
struct InSlot {};
template <Element U>
struct Kept<Tensor<U>> {
  static constexpr bool in_slot = true;
  using Value = InSlot;
};
template <>
struct Kept<Result> : Kept<Tensor<double>> {};

inline SlotSource slot_source(const Result&, const BodyRef& out) { return {&out, true}; }
template <Element U>
SlotSource slot_source(const Tensor<U>& tensor, const BodyRef&) {
  return {&tensor.body(), false};
}

template <class Rule>
concept Captureless = std::is_empty_v<Rule> && std::is_default_constructible_v<Rule>;

// What the rules of a branch need, in slots of the node and as values behind them.
template <class... Args>
struct Needs {
  static constexpr std::size_t slot_count = (std::size_t{Kept<Args>::in_slot} + ... + 0);
  static constexpr bool needs_result = (std::same_as<Args, Result> || ...);
  using Values = std::tuple<typename Kept<Args>::Value...>;

  std::tuple<const Args&...> needed;

  void list_slots(SlotSource* to, const BodyRef& out) const {
    const auto list = [&](const auto& arg) {
      if constexpr (Kept<std::remove_cvref_t<decltype(arg)>>::in_slot) *to++ = slot_source(arg, out);
    };
    std::apply([&](const Args&... args) { (list(args), ...); }, needed);
  }
  Values values() const {
    return std::apply([](const Args&... args) { return Values(value_of(args)...); }, needed);
  }

  // The i-th of the needed values, from a node.
  template <std::size_t Index, Scalar T>
  static decltype(auto) get(OpNode<T>& node, AnySaved* saved, const Values& values) {
    using Arg = std::tuple_element_t<Index, std::tuple<Args...>>;
    if constexpr (std::same_as<Arg, Result>)
      return Tensor<T>(saved[slots_before<Index>()].unpack(&node, node.name()));
    else if constexpr (Kept<Arg>::in_slot)
      return Arg(saved[slots_before<Index>()].unpack(&node, node.name()));
    else
      return std::get<Index>(values);
  }

 private:
  template <class Arg>
  static const auto& value_of(const Arg& arg) {
    if constexpr (Kept<Arg>::in_slot)
      return in_slot;
    else
      return arg;
  }
  template <std::size_t Index>
  static constexpr std::size_t slots_before() {
    constexpr std::array<bool, sizeof...(Args)> kept{Kept<Args>::in_slot...};
    return static_cast<std::size_t>(std::count(kept.begin(), kept.begin() + Index, true));
  }
  static constexpr InSlot in_slot{};
};

// One input and its rule: rule(dy, needed...) is the gradient of `input`.
template <Scalar D, class Rule, class... Args>
struct Wrt : Needs<Args...> {
  static constexpr std::size_t edge_count = 1;
  const Tensor<D>& input;

  Wrt(const Tensor<D>& x, const Args&... args) : Needs<Args...>{std::tuple<const Args&...>(args...)}, input(x) {}

  bool wanted() const { return input.requires_grad(); }
  void list_inputs(const BodyRef** to) const { *to = &input.body(); }

  // The last branch of a node to run may take dy.
  template <bool Last, Scalar T>
  static void run(OpNode<T>& node, const NodeRef* edges, AnySaved* saved, const typename Wrt::Values& values, Tensor<T>& dy) {
    if (!edges[0] || !edges[0]->needed()) return;
    GradNode<D>& receiver = *typed<D>(edges[0]);
    if constexpr (Last && std::same_as<Rule, PassOn>)
      receiver.accumulate(std::move(dy));
    else
      [&]<std::size_t... Index>(std::index_sequence<Index...>) {
        receiver.accumulate(Rule{}(std::as_const(dy), Wrt::template get<Index>(node, saved, values)...));
      }
    (std::index_sequence_for<Args...>());
  }
};

// Several inputs whose gradients share work: rule(dy, wanted, needed...) returns a tuple, one gradient an input. wanted[i] says
// whether gradient i is used; the others may stay undefined.
template <class Rule, class Inputs, class... Args>
struct WrtAll;
template <class Rule, Scalar... D, class... Args>
struct WrtAll<Rule, std::tuple<const Tensor<D>&...>, Args...> : Needs<Args...> {
  static constexpr std::size_t edge_count = sizeof...(D);
  std::tuple<const Tensor<D>&...> inputs;

  WrtAll(const std::tuple<const Tensor<D>&...>& x, const Args&... args) : Needs<Args...>{std::tuple<const Args&...>(args...)}, inputs(x) {}

  bool wanted() const {
    return std::apply([](const Tensor<D>&... input) { return (input.requires_grad() || ...); }, inputs);
  }
  void list_inputs(const BodyRef** to) const {
    std::apply([&](const Tensor<D>&... input) { ((*to++ = &input.body()), ...); }, inputs);
  }

  template <bool Last, Scalar T>
  static void run(OpNode<T>& node, const NodeRef* edges, AnySaved* saved, const typename WrtAll::Values& values, const Tensor<T>& dy) {
    std::array<bool, edge_count> wanted;
    for (std::size_t i = 0; i < edge_count; ++i) wanted[i] = edges[i] && edges[i]->needed();
    if (std::ranges::find(wanted, true) == wanted.end()) return;
    auto gradients = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return Rule{}(dy, wanted, WrtAll::template get<Index>(node, saved, values)...);
    }
    (std::index_sequence_for<Args...>());
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      ((wanted[Index] ? typed<D>(edges[Index])->accumulate(std::move(std::get<Index>(gradients))) : void()), ...);
    }
    (std::index_sequence_for<D...>());
  }
};

// How an operation's branches lie in a node: what run_rules and attach agree on.
template <Scalar T, class... Wrts>
struct OpLayout {
  static constexpr std::size_t edge_count = (Wrts::edge_count + ...), slot_count = (Wrts::slot_count + ...);
  using Values = std::tuple<typename Wrts::Values...>;

  static void run(OpNode<T>& node, Tensor<T>& dy) { run_from_last<sizeof...(Wrts)>(node, dy); }
  static void destroy(void* values) { std::destroy_at(static_cast<Values*>(values)); }

  template <std::size_t Count>
  static void run_from_last(OpNode<T>& node, Tensor<T>& dy) {
    if constexpr (Count > 0) {
      using Branch = std::tuple_element_t<Count - 1, std::tuple<Wrts...>>;
      constexpr std::array edges{Wrts::edge_count...}, kept{Wrts::slot_count...};
      constexpr auto before = [](const auto& counts) {
        return std::accumulate(counts.begin(), counts.begin() + (Count - 1), std::size_t{0});
      };
      Branch::template run<Count == 1>(node, node.edges().data() + before(edges), node.saved() + before(kept),
                                       std::get<Count - 1>(*static_cast<const Values*>(node.values())), dy);
      run_from_last<Count - 1>(node, dy);
    }
  }
};

template <Scalar T, class... Wrts>
inline constexpr OpRules<T> op_rules{OpLayout<T, Wrts...>::run, std::is_trivially_destructible_v<typename OpLayout<T, Wrts...>::Values>
                                                                    ? nullptr
                                                                    : OpLayout<T, Wrts...>::destroy};

// `out` is undefined while no rule needs it and the forward pass has not run.
template <Scalar T, class... Wrts>
[[gnu::noinline]] NodeRef new_node(const char* name, const Shape& shape, const BodyRef& out, const Wrts&... wrts) {
  using Layout = OpLayout<T, Wrts...>;
  static_assert(alignof(typename Layout::Values) <= alignof(AnySaved));
  std::array<const BodyRef*, Layout::edge_count> inputs;
  std::array<SlotSource, Layout::slot_count> sources{};
  const BodyRef** input = inputs.data();
  SlotSource* source = sources.data();
  const auto list = [&]<class Branch>(const Branch& branch) {
    branch.list_inputs(input);
    if (branch.wanted()) branch.list_slots(source, out);  // else it costs nothing
    input += Branch::edge_count;
    source += Branch::slot_count;
  };
  (list(wrts), ...);
  NodeRef node = OpNode<T>::create(name, shape, inputs, sources, sizeof(typename Layout::Values));
  auto* own = static_cast<OpNode<T>*>(node.get());
  std::construct_at(static_cast<typename Layout::Values*>(own->values()), wrts.values()...);
  own->set_rules(op_rules<T, Wrts...>);
  return node;
}

}  // namespace detail

// The gradient of `input`: rule(dy, needed...). What the rule needs is listed, not captured: tensors (inputs, auxiliaries that the
// forward pass fills), `result`, plain values. The rule returns a Tensor or a lazy Product, Placement or RowScatter; its shape may be
// the broadcast one.
template <Scalar D, detail::Captureless Rule, class... Args>
detail::Wrt<D, Rule, Args...> wrt(const Tensor<D>& input, Rule, const Args&... needed) {
  return {input, needed...};
}

// The gradients of several inputs that share work: rule(dy, wanted, needed...) returns a tuple of them. An input may be undefined.
template <Scalar... D, detail::Captureless Rule, class... Args>
detail::WrtAll<Rule, std::tuple<const Tensor<D>&...>, Args...> wrt_all(std::tuple<const Tensor<D>&...> inputs, Rule,
                                                                       const Args&... needed) {
  return {inputs, needed...};
}

// The inputs of wrt_all.
template <Scalar... D>
std::tuple<const Tensor<D>&...> inputs(const Tensor<D>&... tensors) {
  return {tensors...};
}

// Runs forward(T* out) into a new tensor of `shape`, and puts it into the graph if gradients are recorded and any input wants one.
// What the rules need, but for `result` and what is in a filling(), must be there before: it is saved first, so that a second run
// that has all it came for ends without computing.
template <Scalar T, class Forward, class... Wrts>
Tensor<T> record(const char* name, const Shape& shape, const Forward& forward, const Wrts&... wrts) {
  const bool recorded = thread_state.grad_enabled && (wrts.wanted() || ...);
  if constexpr (detail::fills<Forward> || (Wrts::needs_result || ...)) {
    Tensor<T> out = compute<T>(name, shape, forward);
    if (recorded) out.body()->node = detail::new_node<T>(name, shape, out.body(), wrts...);
    return out;
  } else {
    NodeRef node = recorded ? detail::new_node<T>(name, shape, BodyRef{}, wrts...) : NodeRef{};
    Tensor<T> out = compute<T>(name, shape, forward);
    out.body()->node = std::move(node);
    return out;
  }
}

// The same for a result that shares the memory of an input: `out` is outside the graph and gets its place in it.
template <Scalar T, class... Wrts>
Tensor<T> record_view(const char* name, Tensor<T> out, const Wrts&... wrts) {
  if (thread_state.grad_enabled && (wrts.wanted() || ...)) out.body()->node = detail::new_node<T>(name, out.shape(), out.body(), wrts...);
  return out;
}

}  // namespace minitorch
