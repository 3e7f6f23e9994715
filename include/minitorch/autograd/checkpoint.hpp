// checkpoint(): keep a region's inputs alone and run the region again when backward wants what it had saved.
// SPDX-License-Identifier: MIT
#pragma once

// A client of the saved-tensor hooks: the graph is the usual one, each slot holds a ticket, and the first one redeemed runs the
// region again.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <minitorch/autograd/leaf.hpp>
#include <minitorch/autograd/region.hpp>
#include <minitorch/autograd/visit.hpp>

namespace minitorch {

struct CheckpointOptions {
  // Which results are kept besides the region's inputs.
  Policy policy = {};
  // Runs the region to its end and compares number, shape and type of all that it saves with the first run.
  bool verify = false;
};

// True inside a region that runs for the second time: what must happen once (a counter, a print) can ask.
inline bool in_recompute() { return thread_state.in_recompute; }

namespace detail {

// An argument of a region, kept until the second run: tensors in slots under the outer hooks, anything else by value.
template <class Arg>
struct KeptArgument {
  Arg value;
  explicit KeptArgument(const Arg& arg) : value(arg) {}
  const Arg& get() const { return value; }
};
template <Element T>
struct KeptArgument<Tensor<T>> {
  Saved<T> saved;
  bool requires_grad;
  explicit KeptArgument(const Tensor<T>& arg) : saved(arg, false, "checkpoint"), requires_grad(arg.requires_grad()) {}
  // Outside of the old graph: the second run only fills slots.
  Tensor<T> get() const {
    Tensor<T> input = saved.unpack(nullptr, "checkpoint");
    if (!input.defined()) return input;
    input = input.detach();
    if constexpr (Scalar<T>) input.set_requires_grad(requires_grad);
    return input;
  }
};
template <Element T>
struct KeptArgument<std::vector<Tensor<T>>> {
  std::vector<KeptArgument<Tensor<T>>> saved;
  explicit KeptArgument(const std::vector<Tensor<T>>& args) {
    for (const Tensor<T>& arg : args) saved.emplace_back(arg);
  }
  std::vector<Tensor<T>> get() const {
    std::vector<Tensor<T>> inputs;
    for (const auto& kept : saved) inputs.push_back(kept.get());
    return inputs;
  }
};

// A region's callable until the second run: a module with a name is referred to; a lambda is copied, since it often dies first.
template <class F>
using KeptCallable =
    std::conditional_t<Module<std::remove_cvref_t<F>> || !std::copy_constructible<std::remove_cvref_t<F>>, F, std::remove_cvref_t<F>>;

// What may stand before the callable.
template <class A>
concept SaysWhatToKeep = std::same_as<A, CheckpointOptions> || std::same_as<A, Policy> || std::same_as<A, Recompute>;

template <class F, class... Args>
struct RegionCall {
  KeptCallable<F> callable;
  std::tuple<KeptArgument<Args>...> arguments;
  void operator()() {
    std::apply([&](const auto&... kept) { (void)callable(kept.get()...); }, arguments);
  }
};

}  // namespace detail

// f(args...), of whose forward pass only the tensors among args (and what the policy names) are kept. Backward runs f again with the
// same random numbers, so f must do the same both times. A module with a name is referred to and must outlive the backward pass, any
// other callable is copied or moved in; what a lambda captured by reference must live as long. Nests. Gradients, also of parameters
// inside f and of higher order, are bitwise those without checkpoint. On ranks: a region that called collectives runs again to its end,
// so that all ranks call the same ones; all of them must run their backward pass.
template <class F, class... Args>
auto checkpoint(CheckpointOptions options, F&& f, const Args&... args) {
  if (!thread_state.grad_enabled) return std::forward<F>(f)(args...);
  const auto region = std::make_shared<detail::Region>(options.verify);
  using Call = detail::RegionCall<F, Args...>;
  const auto call = std::make_shared<Call>(Call{std::forward<F>(f), std::tuple<detail::KeptArgument<Args>...>(args...)});
  region->rerun = [call] { (*call)(); };
  if (options.policy.keeps_anything()) {
    const HookScope* outer = autograd_state.hooks;
    region->keeper.emplace(std::move(options.policy), outer == nullptr ? nullptr : outer->hooks);
  }
  const std::uint64_t collectives = thread_state.collectives;
  const HookScope packing(region);
  const InterceptorScope keeping(region->keeper ? &*region->keeper : nullptr);
  auto output = call->callable(args...);
  region->complete(thread_state.collectives - collectives - (region->keeper ? region->keeper->collectives() : 0));
  return output;
}
template <class F, class... Args>
auto checkpoint(const Policy& policy, F&& f, const Args&... args) {
  return checkpoint(CheckpointOptions{.policy = policy}, std::forward<F>(f), args...);
}
template <class F, class... Args>
auto checkpoint(Recompute mode, F&& f, const Args&... args) {
  if (mode == Recompute::none) return std::forward<F>(f)(args...);
  return checkpoint(mode == Recompute::full ? Policy{} : policy::save_products, std::forward<F>(f), args...);
}
template <class F, class... Args>
requires(!detail::SaysWhatToKeep<std::remove_cvref_t<F>>) auto checkpoint(F&& f, const Args&... args) {
  return checkpoint(CheckpointOptions{}, std::forward<F>(f), args...);
}

// blocks[n - 1](... blocks[0](x)) in `segments` checkpointed pieces of equal length; 0 takes sqrt(n), which keeps the sum of what
// waits and what runs again smallest. The blocks must outlive the backward pass.
template <class Blocks, Scalar T>
Tensor<T> checkpoint_sequential(CheckpointOptions options, Blocks& blocks, std::size_t segments, Tensor<T> x) {
  const std::size_t count = std::size(blocks);
  if (segments == 0) segments = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(count))));
  for (std::size_t s = 0; s < segments; ++s) {
    const auto part = std::span(blocks).subspan(count * s / segments, count * (s + 1) / segments - count * s / segments);
    if (part.empty()) continue;
    x = checkpoint(
        options,
        [part](Tensor<T> h) {
          for (auto& block : part) h = block(h);
          return h;
        },
        x);
  }
  return x;
}
template <class Blocks, Scalar T>
Tensor<T> checkpoint_sequential(Blocks& blocks, std::size_t segments, const Tensor<T>& x) {
  return checkpoint_sequential(CheckpointOptions{}, blocks, segments, x);
}

}  // namespace minitorch
