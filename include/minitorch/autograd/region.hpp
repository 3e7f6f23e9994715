// One checkpointed call: what it saved, what its policy keeps, and how it runs again.
// SPDX-License-Identifier: MIT
#pragma once

#include <any>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/autograd/policy.hpp>
#include <minitorch/autograd/saved.hpp>

namespace minitorch::detail {

// Ends a second run early, once everything that was saved has come. Passes through the region; never leaves checkpoint().
struct StopRecompute {};

// The results that a policy keeps from a region's first run.
struct KeptResult {
  std::size_t operation;  // its number within the region
  const char* name;
  std::uint64_t streams;  // that it took of the random generator
  std::vector<AnySaved> outputs;
};

// Stands in the first run and keeps them.
class Keeper final : public Interceptor {
 public:
  // `outer`: the hooks outside of the region, under which the results are kept.
  Keeper(Policy policy, std::shared_ptr<SavedHooks> outer) : policy_(std::move(policy)), outer_(std::move(outer)) {}

  const std::vector<KeptResult>& results() const { return results_; }

  // The second run gets at least this far: what waited until that was known goes through the outer hooks.
  void reach() {
    const std::size_t first = std::exchange(reached_, results_.size());
    if (outer_ == nullptr) return;
    const HookScope outside(outer_);
    for (KeptResult& kept : std::span(results_).subspan(first))
      for (AnySaved& output : kept.outputs) output = AnySaved(output.unpack(nullptr, kept.name), true, kept.name);
  }
  // The second run ends before what waits.
  void drop_unreached() { results_.erase(results_.begin() + static_cast<std::ptrdiff_t>(reached_), results_.end()); }

  // The collectives of kept operations: they are not called again.
  std::uint64_t collectives() const { return collectives_; }

  bool replay(const OperationInfo& operation, std::span<BodyRef>) override {
    wanted_ = policy_.keeps(operation);
    stream_before_ = thread_state.next_stream;
    collectives_before_ = thread_state.collectives;
    return false;
  }

  void ran(const OperationInfo& operation, std::span<const BodyRef> outputs) override {
    const std::uint64_t communicated = thread_state.collectives - collectives_before_;
    if (wanted_ || (policy_.keeps_collectives() && communicated > 0)) {
      const HookScope none(nullptr);
      KeptResult kept{operation_, operation.name, thread_state.next_stream - stream_before_, {}};
      for (const BodyRef& output : outputs) kept.outputs.emplace_back(output, true, operation.name);  // data without a place in the graph
      results_.push_back(std::move(kept));
      collectives_ += communicated;
    }
    ++operation_;
  }

 private:
  Policy policy_;
  std::shared_ptr<SavedHooks> outer_;
  std::vector<KeptResult> results_;
  std::size_t operation_ = 0, reached_ = 0;
  std::uint64_t stream_before_ = 0, collectives_before_ = 0, collectives_ = 0;
  bool wanted_ = false;
};

// Stands in a second run and hands them out.
class Replayer final : public Interceptor {
 public:
  explicit Replayer(const std::vector<KeptResult>& results) : results_(results) {}

  bool replay(const OperationInfo& operation, std::span<BodyRef> outputs) override {
    if (next_ == results_.size() || results_[next_].operation != operation_) return false;
    const KeptResult& kept = results_[next_];
    if (std::strcmp(kept.name, operation.name) != 0 || kept.outputs.size() != outputs.size())
      fail<GraphError>("checkpoint: operation ", operation_, " was ", kept.name, " the first time and ", operation.name, " the second");
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = kept.outputs[i].unpack(nullptr, kept.name);
    if (outputs[0]->dtype != operation.dtype || !(outputs[0]->shape == operation.shape))
      fail<GraphError>("checkpoint: ", kept.name, ", operation ", operation_, ", had a result of shape ", outputs[0]->shape,
                       " the first time and ", operation.shape, " the second");
    thread_state.next_stream += kept.streams;
    ++next_;
    ++operation_;
    return true;
  }
  void ran(const OperationInfo&, std::span<const BodyRef>) override { ++operation_; }

 private:
  const std::vector<KeptResult>& results_;
  std::size_t operation_ = 0, next_ = 0;
};

// Every slot of a region's nodes holds a ticket {region, index}.
class Region final : public SavedHooks, public std::enable_shared_from_this<Region>, private PassGuest {
 public:
  explicit Region(bool verify)
      : verify_(verify), seed_(thread_state.seed), next_stream_(thread_state.next_stream), batch_(thread_state.batch) {}

  // Runs the region again. Its inputs and itself are in it; none of its nodes are.
  std::function<void()> rerun;

  // Keeps what the policy says; none without a policy.
  std::optional<Keeper> keeper;

  // The first run is over. It called that many collectives, the kept ones not counted.
  void complete(std::uint64_t collectives) {
    complete_ = true;
    communicated_ = collectives > 0;
    if (keeper) runs_to_end() ? keeper->reach() : keeper->drop_unreached();
  }

  // The first run: nothing is kept but what it was.
  std::any pack(const AnyTensor& value, const SavedContext& context) override {
    if (keeper) keeper->reach();
    saved_.push_back({value.shape(), value.dtype(), context.is_leaf ? value.buffer() : nullptr, value.body()->buffer->version(), {}});
    return Ticket{shared_from_this(), saved_.size() - 1};
  }

  AnyTensor unpack(const std::any& any_ticket) override {
    const std::size_t index = std::any_cast<const Ticket&>(any_ticket).index;
    if (!saved_[index].value.defined()) recompute();
    return std::exchange(saved_[index].value, {});  // lives no longer than it is needed, even with retain_graph
  }

 private:
  struct Ticket {
    std::shared_ptr<Region> region;
    std::size_t index;
  };
  struct Value {
    Shape shape;
    DType dtype;
    const void* leaf;  // the identity of a parameter's memory
    std::uint32_t version;
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
    join();
    try {
      const Scoped<&ThreadState::seed> seed(seed_);
      const Scoped<&ThreadState::next_stream> next_stream(next_stream_);
      const Scoped<&ThreadState::batch> batch(batch_);
      const Scoped<&ThreadState::in_recompute> again(true);
      const EnableGrad recording;
      const HookScope collecting(collector);
      std::optional<Replayer> replayer;
      if (keeper) replayer.emplace(keeper->results());
      const InterceptorScope replaying(replayer ? &*replayer : nullptr);
      rerun();
    } catch (const StopRecompute&) {
    } catch (...) {
      forget_values();
      throw;
    }
    if (collector->next != saved_.size() && (collector->next < saved_.size() || runs_to_end())) {
      forget_values();
      fail<GraphError>("checkpoint: the region saved ", saved_.size(), " values the first time and ", collector->next, " the second");
    }
  }

  void collect(std::size_t index, const AnyTensor& value, const SavedContext& context) {
    if (index < saved_.size()) {
      Value& expected = saved_[index];
      if (!(expected.shape == value.shape()) || expected.dtype != value.dtype())
        fail<GraphError>("checkpoint: value ", index, ", saved by ", context.operation, ", was ", dtype_name(expected.dtype), " of shape ",
                         expected.shape, " the first time and ", dtype_name(value.dtype()), " of shape ", value.shape(), " the second");
      if (expected.leaf == value.buffer() && expected.version != value.body()->buffer->version())
        fail<GraphError>("checkpoint: a parameter of shape ", value.shape(), " that ", context.operation,
                         " uses was modified in place between the forward and the backward pass");
      expected.value = value;
    }
    if (index + 1 >= saved_.size() && !runs_to_end()) throw StopRecompute{};
  }

  // A backward pass inside the first run needs only what was saved before it.
  bool runs_to_end() const { return complete_ && (verify_ || communicated_); }

  void forget_values() noexcept {
    for (Value& value : saved_) value.value = {};
  }
  void pass_ended() noexcept override { forget_values(); }

  bool verify_, complete_ = false, communicated_ = false;
  std::uint64_t seed_, next_stream_;
  BatchPlace batch_;
  std::vector<Value> saved_;
};

}  // namespace minitorch::detail
