// record(): one operation, one place: a forward pass that fills the result, and a rule per input.
// SPDX-License-Identifier: MIT
#pragma once

// A captureless rule is a type, so a node is its edges and its saved slots and nothing else.

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <minitorch/autograd/compute.hpp>
#include <minitorch/autograd/grad_node.hpp>
#include <minitorch/autograd/saved.hpp>
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

// How a needed value is kept: a tensor in a Saved slot, anything else by value.
template <Scalar T, class Arg>
struct Slot {
  using Type = Arg;
  static const Arg& make(const Arg& arg, const Tensor<T>&, const char*) { return arg; }
};
template <Scalar T, Element U>
struct Slot<T, Tensor<U>> {
  using Type = Saved<U>;
  static Saved<U> make(const Tensor<U>& arg, const Tensor<T>&, const char* name) { return Saved<U>(arg, false, name); }
};
template <Scalar T>
struct Slot<T, Result> {
  using Type = Saved<T>;
  static Saved<T> make(Result, const Tensor<T>& out, const char* name) { return Saved<T>(out, true, name); }
};

template <class Value>
const Value& unpack_slot(const Value& value, Node*, const char*) {
  return value;
}
template <Element U>
Tensor<U> unpack_slot(const Saved<U>& saved, Node* node, const char* name) {
  return saved.unpack(node, name);
}

// Whether there was a tensor to let go of.
template <class Value>
bool release_slot(Value&) {
  return false;
}
template <Element U>
bool release_slot(Saved<U>& saved) {
  return saved.release();
}

template <Scalar T, class... Args>
using Slots = std::tuple<typename Slot<T, Args>::Type...>;

template <class... Args>
inline constexpr bool has_result = (std::same_as<Args, Result> || ...);

template <class Rule>
concept Captureless = std::is_empty_v<Rule> && std::is_default_constructible_v<Rule>;

// One input and its rule: rule(dy, needed...) is the gradient of `input`.
template <Scalar D, class Rule, class... Args>
struct Wrt {
  static constexpr std::size_t edge_count = 1;
  static constexpr bool needs_result = has_result<Args...>;
  const Tensor<D>& input;
  std::tuple<const Args&...> needed;

  bool wanted() const { return input.requires_grad(); }
  void link(NodeRef* edges) const { edges[0] = input.body()->node; }

  template <Scalar T>
  struct Branch {
    static constexpr std::size_t edge_count = 1;
    std::optional<Slots<T, Args...>> kept;

    Branch(const Wrt& wrt, const Tensor<T>& out, const char* name) {
      if (!wrt.wanted()) return;  // costs nothing
      std::apply([&](const Args&... args) { kept.emplace(Slot<T, Args>::make(args, out, name)...); }, wrt.needed);
    }
    // The last branch of a node to run may take dy.
    template <bool Last>
    void run(Node* node, const char* name, const NodeRef* edges, Tensor<T>& dy) const {
      if (!kept || !edges[0]->needed()) return;
      GradNode<D>& receiver = *typed<D>(edges[0]);
      if constexpr (Last && std::same_as<Rule, PassOn>) {
        receiver.accumulate(std::move(dy));
      } else {
        std::apply([&](const auto&... slot) { receiver.accumulate(Rule{}(std::as_const(dy), unpack_slot(slot, node, name)...)); }, *kept);
      }
    }
  };
};

// Several inputs whose gradients share work: rule(dy, wanted, needed...) returns a tuple, one gradient an input. wanted[i] says
// whether gradient i is used; the others may stay undefined.
template <class Rule, class Inputs, class... Args>
struct WrtAll;
template <class Rule, Scalar... D, class... Args>
struct WrtAll<Rule, std::tuple<const Tensor<D>&...>, Args...> {
  static constexpr std::size_t edge_count = sizeof...(D);
  static constexpr bool needs_result = has_result<Args...>;
  std::tuple<const Tensor<D>&...> inputs;
  std::tuple<const Args&...> needed;

  bool wanted() const {
    return std::apply([](const Tensor<D>&... input) { return ((input.defined() && input.requires_grad()) || ...); }, inputs);
  }
  void link(NodeRef* edges) const {
    std::apply([&](const Tensor<D>&... input) { ((*edges++ = input.defined() ? input.body()->node : NodeRef{}), ...); }, inputs);
  }

  template <Scalar T>
  struct Branch {
    static constexpr std::size_t edge_count = sizeof...(D);
    std::optional<Slots<T, Args...>> kept;

    Branch(const WrtAll& wrt, const Tensor<T>& out, const char* name) {
      if (!wrt.wanted()) return;
      std::apply([&](const Args&... args) { kept.emplace(Slot<T, Args>::make(args, out, name)...); }, wrt.needed);
    }
    template <bool Last>
    void run(Node* node, const char* name, const NodeRef* edges, const Tensor<T>& dy) const {
      if (!kept) return;
      std::array<bool, edge_count> wanted;
      for (std::size_t i = 0; i < edge_count; ++i) wanted[i] = edges[i] && edges[i]->needed();
      auto gradients = std::apply([&](const auto&... slot) { return Rule{}(dy, wanted, unpack_slot(slot, node, name)...); }, *kept);
      deliver(edges, wanted, gradients, std::make_index_sequence<edge_count>{});
    }
    template <class Gradients, std::size_t... Index>
    static void deliver(const NodeRef* edges, const std::array<bool, edge_count>& wanted, Gradients& gradients,
                        std::index_sequence<Index...>) {
      ((wanted[Index] ? typed<D>(edges[Index])->accumulate(std::move(std::get<Index>(gradients))) : void()), ...);
    }
  };
};

template <Scalar T, class... Branches>
class OpNode final : public GradNode<T> {
 public:
  template <class... Wrts>
  OpNode(const char* name, const Shape& shape, const Tensor<T>& out, const Wrts&... wrts)
      : GradNode<T>(name, shape), branches_(Branches(wrts, out, name)...) {
    NodeRef* next = edges_.data();
    ((wrts.link(next), next += Wrts::edge_count), ...);
    this->set_edges(edges_.data(), edges_.size());
  }

 private:
  void run() override {
    Tensor<T> dy = this->take_gradient();
    run_from_last<sizeof...(Branches)>(dy);
  }
  template <std::size_t Count>
  void run_from_last(Tensor<T>& dy) {
    if constexpr (Count > 0) {
      constexpr std::array<std::size_t, sizeof...(Branches)> edge_counts{Branches::edge_count...};
      constexpr std::size_t first_edge = std::accumulate(edge_counts.begin(), edge_counts.begin() + (Count - 1), std::size_t{0});
      std::get<Count - 1>(branches_).template run<Count == 1>(this, this->name(), edges_.data() + first_edge, dy);
      run_from_last<Count - 1>(dy);
    }
  }
  bool release() override {
    bool had = false;
    std::apply([&](Branches&... branch) { ((had = release_branch(branch) || had), ...); }, branches_);
    return had;
  }
  template <class Branch>
  static bool release_branch(Branch& branch) {
    bool had = false;
    if (branch.kept) std::apply([&](auto&... slot) { ((had = release_slot(slot) || had), ...); }, *branch.kept);
    return had;
  }

  std::array<NodeRef, (Branches::edge_count + ... + 0)> edges_;
  std::tuple<Branches...> branches_;
};

// `out` is undefined while no rule needs it and the forward pass has not run.
template <Scalar T, class... Wrts>
NodeRef new_node(const char* name, const Shape& shape, const Tensor<T>& out, const Wrts&... wrts) {
  return NodeRef(new OpNode<T, typename Wrts::template Branch<T>...>(name, shape, out, wrts...));
}

}  // namespace detail

// The gradient of `input`: rule(dy, needed...). What the rule needs is listed, not captured: tensors (inputs, auxiliaries that the
// forward pass fills), `result`, plain values. The rule returns a Tensor or a lazy Product, Placement or RowScatter; its shape may be
// the broadcast one.
template <Scalar D, detail::Captureless Rule, class... Args>
detail::Wrt<D, Rule, Args...> wrt(const Tensor<D>& input, Rule, const Args&... needed) {
  return {input, std::tuple<const Args&...>(needed...)};
}

// The gradients of several inputs that share work: rule(dy, wanted, needed...) returns a tuple of them. An input may be undefined.
template <Scalar... D, detail::Captureless Rule, class... Args>
detail::WrtAll<Rule, std::tuple<const Tensor<D>&...>, Args...> wrt_all(std::tuple<const Tensor<D>&...> inputs, Rule,
                                                                       const Args&... needed) {
  return {inputs, std::tuple<const Args&...>(needed...)};
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
Tensor<T> record(const char* name, const Shape& shape, Forward&& forward, const Wrts&... wrts) {
  const bool recorded = thread_state.grad_enabled && (wrts.wanted() || ...);
  if constexpr (detail::fills<std::remove_cvref_t<Forward>> || (Wrts::needs_result || ...)) {
    Tensor<T> out = compute<T>(name, shape, std::forward<Forward>(forward));
    if (recorded) out.body()->node = detail::new_node(name, shape, out, wrts...);
    return out;
  } else {
    NodeRef node = recorded ? detail::new_node(name, shape, Tensor<T>{}, wrts...) : NodeRef{};
    Tensor<T> out = compute<T>(name, shape, std::forward<Forward>(forward));
    out.body()->node = std::move(node);
    return out;
  }
}

// The same for a result that shares the memory of an input: `out` is outside the graph and gets its place in it.
template <Scalar T, class... Wrts>
Tensor<T> record_view(const char* name, Tensor<T> out, const Wrts&... wrts) {
  if (thread_state.grad_enabled && (wrts.wanted() || ...)) out.body()->node = detail::new_node(name, out.shape(), out, wrts...);
  return out;
}

}  // namespace minitorch
