// checkpoint(): keep a region's inputs alone and run the region again when backward wants what it had saved.
// SPDX-License-Identifier: MIT
#pragma once

// A client of the saved-tensor hooks: the graph is the usual one, each slot holds a ticket, and the first one redeemed runs the
// region again.

#include <any>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/autograd/leaf.hpp>
#include <minitorch/autograd/saved.hpp>

namespace minitorch {

struct CheckpointOptions {
  // Runs the region to its end and compares number, shape and type of all that it saves with the first run.
  bool verify = false;
};

// True inside a region that runs for the second time: what must happen once (a counter, a print) can ask.
inline bool in_recompute() { return thread_state.in_recompute; }

namespace detail {

// The place in the random stream, put back when the scope ends.
class RandomScope {
 public:
  RandomScope(std::uint64_t seed, std::uint64_t next_stream) : seed_(seed), next_stream_(next_stream) {}
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;

 private:
  Scoped<&ThreadState::seed> seed_;
  Scoped<&ThreadState::next_stream> next_stream_;
};

// Ends a second run early, once everything that was saved has come. Passes through the region; never leaves checkpoint().
struct StopRecompute {};

// One checkpointed call. Every slot of its region holds a ticket {region, index}.
class Region final : public SavedHooks, public std::enable_shared_from_this<Region> {
 public:
  explicit Region(CheckpointOptions options) : options_(options), seed_(thread_state.seed), next_stream_(thread_state.next_stream) {}

  // Runs the region again. Its inputs and itself are in it; none of its nodes are.
  std::function<void()> rerun;

  // The first run: nothing is kept but what it was.
  std::any pack(const AnyTensor& value, const SavedContext&) override {
    saved_.push_back({value.shape(), value.dtype(), {}});
    return Ticket{shared_from_this(), saved_.size() - 1};
  }

  AnyTensor unpack(const std::any& any_ticket) override {
    const auto& ticket = std::any_cast<const Ticket&>(any_ticket);
    if (!saved_[ticket.index].value.defined()) recompute();
    return std::exchange(saved_[ticket.index].value, {});  // lives no longer than it is needed, even with retain_graph
  }

  void communicated() { communicated_ = true; }

 private:
  struct Ticket {
    std::shared_ptr<Region> region;
    std::size_t index;
  };
  struct Value {
    Shape shape;
    DType dtype;
    AnyTensor value;
  };

  // Collects what the second run saves, in the same order.
  struct Collector final : SavedHooks {
    explicit Collector(Region& r) : region(r) {}
    std::any pack(const AnyTensor& value, const SavedContext& context) override {
      region.collect(next++, value, context);
      return value;  // for a backward pass inside the region
    }
    AnyTensor unpack(const std::any& ticket) override { return std::any_cast<AnyTensor>(ticket); }
    Region& region;
    std::size_t next = 0;
  };

  void recompute() {
    const auto collector = std::make_shared<Collector>(*this);
    {
      const RandomScope random(seed_, next_stream_);
      const Scoped<&ThreadState::in_recompute> again(true);
      const EnableGrad recording;
      const HookScope collecting(collector);
      try {
        rerun();
      } catch (const StopRecompute&) {
      } catch (...) {
        for (Value& value : saved_) value.value = {};
        throw;
      }
    }
    if (collector->next < saved_.size())
      fail<GraphError>("checkpoint: the region saved ", saved_.size(), " values the first time and ", collector->next, " the second");
    if (runs_to_end() && collector->next > saved_.size())
      fail<GraphError>("checkpoint: the region saved ", saved_.size(), " values the first time and ", collector->next, " the second");
  }

  void collect(std::size_t index, const AnyTensor& value, const SavedContext& context) {
    if (index < saved_.size()) {
      Value& expected = saved_[index];
      if (!(expected.shape == value.shape()) || expected.dtype != value.dtype())
        fail<GraphError>("checkpoint: value ", index, ", saved by ", context.operation, ", was ", dtype_name(expected.dtype), " of shape ",
                         expected.shape, " the first time and ", dtype_name(value.dtype()), " of shape ", value.shape(), " the second");
      expected.value = value;
    }
    if (index + 1 >= saved_.size() && !runs_to_end()) throw StopRecompute{};
  }

  bool runs_to_end() const { return options_.verify || communicated_; }

  CheckpointOptions options_;
  std::uint64_t seed_, next_stream_;
  bool communicated_ = false;
  std::vector<Value> saved_;
};

// An argument of a region, kept until the second run: a tensor in a slot under the outer hooks, anything else by value.
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
    Tensor<T> input = saved.unpack(nullptr, "checkpoint").detach();
    if constexpr (Scalar<T>) input.set_requires_grad(requires_grad);
    return input;
  }
};

}  // namespace detail

// f(args...), of whose forward pass only the tensors among args are kept. Backward runs f again with the same random numbers, so f
// must do the same both times. A temporary f moves in; one with a name (a module) is referred to and must outlive the backward pass.
// Nests. Gradients, also with respect to parameters inside f, are bitwise those without checkpoint.
template <class F, class... Args>
auto checkpoint(CheckpointOptions options, F&& f, const Args&... args) {
  if (!thread_state.grad_enabled) return std::forward<F>(f)(args...);
  const auto region = std::make_shared<detail::Region>(options);
  struct Call {
    F callable;  // an lvalue reference stays one
    std::tuple<detail::KeptArgument<Args>...> arguments;
  };
  const auto call =
      std::make_shared<Call>(Call{std::forward<F>(f), std::tuple<detail::KeptArgument<Args>...>(detail::KeptArgument<Args>(args)...)});
  region->rerun = [call] { std::apply([&](const auto&... kept) { (void)call->callable(kept.get()...); }, call->arguments); };
  const std::uint64_t collectives = thread_state.collectives;
  const HookScope packing(region);
  auto output = call->callable(args...);
  if (thread_state.collectives != collectives) region->communicated();
  return output;
}
template <class F, class... Args>
requires(!std::same_as<std::remove_cvref_t<F>, CheckpointOptions>) auto checkpoint(F&& f, const Args&... args) {
  return checkpoint(CheckpointOptions{}, std::forward<F>(f), args...);
}

}  // namespace minitorch
