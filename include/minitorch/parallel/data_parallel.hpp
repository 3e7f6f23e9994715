// DataParallel: every rank has the whole model and a part of the batch; after finish() all have the gradient of the whole batch.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <minitorch/parallel/axis.hpp>
#include <minitorch/parallel/buckets.hpp>
#include <minitorch/parallel/same_model.hpp>

namespace minitorch::parallel {

struct DataParallelOptions {
  std::int64_t bucket_bytes = std::int64_t{1} << 20;
  bool broadcast = false;     // take rank 0's parameters at the start, instead of an error when they differ
  bool other_leaves = false;  // losses may depend on leaves that are no parameters; their gradients stay this rank's
};

// What all ranks did together in one step.
struct BatchSum {
  double loss = 0;   // the sum of the losses
  double count = 0;  // the number of samples (or tokens)
  double mean() const { return loss / count; }
};

// The samples [first, last) of shard `shard` out of `shards`, sizes differing by one at most.
struct SampleRange {
  std::int64_t first, last;
};
constexpr SampleRange partition(std::int64_t samples, std::int64_t shards, std::int64_t shard) {
  return {samples * shard / shards, samples * (shard + 1) / shards};
}

// Losses are sums, with the number of samples beside them: gradients are added over micro-batches and ranks and divided once by the
// whole count, so uneven and empty shards, and accumulation, equal the whole batch. With more virtual shards than ranks, backward() is
// called once a local shard, each starts at zero, and they are added by the tree of the ranks: the same bits on 1, 2, 4, ... ranks.
// All ranks call finish(). The parameters are those that the module has at construction: after one was replaced, added or given another
// requires_grad, another DataParallel is needed. backward() refuses a loss that depends on a leaf that is none of them, finish() a
// parameter that is not ours any more. T is the type of the parameters.
template <Scalar T>
class DataParallel {
 public:
  // Throws ArgumentError on all ranks, naming the first parameter that differs in name, shape or value.
  template <Module M>
  DataParallel(M& model, const Axis& axis, DataParallelOptions options = {}) : state_(std::make_shared<State>(model, axis, options)) {
    const auto& parameters = state_->buckets.parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      Tensor<T> parameter = parameters[p].tensor;
      parameter.register_post_accumulate_hook([state = std::weak_ptr<State>(state_), p] {
        if (const auto alive = state.lock()) alive->buckets.arrived(p);
      });
    }
  }

  // Adds the gradients of `loss`, the sum over `count` samples of this rank. The last call before finish() reduces buckets as it goes;
  // `is_last` says that it is. Throws ArgumentError, before anything is computed, if the loss depends on another leaf than the parameters
  // (unless `other_leaves`). A pass that fails drops the whole step, its gradients, losses and counts; if sums over ranks had begun, all
  // later calls throw GraphError.
  template <Scalar L>
  void backward(const Tensor<L>& loss, double count, bool is_last = true) {
    State& s = *state_;
    const bool tree = s.axis.local_shards() > 1;
    s.differentiate(loss, is_last && !tree);
    s.sum.count += count;
    if (tree)
      s.add_shard(static_cast<double>(loss.item()));
    else
      s.sum.loss += static_cast<double>(loss.item());
  }

  // Adds over ranks, divides by the whole count, and returns what the step was. A rank without samples calls it just so. A count of
  // zero leaves gradients of zero: skip the step then, as every rank does.
  BatchSum finish() {
    State& s = *state_;
    if (s.axis.local_shards() > 1) s.put_tree();
    s.buckets.finish();
    std::vector<double> sums{s.sum.loss, s.sum.count};
    ++thread_state.collectives;
    s.axis.comm().all_reduce(sums);
    s.sum = {};
    if (sums[1] != 0) s.buckets.divide(sums[1]);
    return {sums[0], sums[1]};
  }

  // True on all ranks if it is true on any: whether to stop, to skip, to go on with batches.
  bool any_rank(bool flag) const {
    std::vector<std::uint8_t> flags(1, flag ? 1 : 0);
    ++thread_state.collectives;
    state_->axis.comm().all_reduce(flags, Reduction::max);
    return flags[0] != 0;
  }

  const Axis& axis() const { return state_->axis; }
  std::int64_t bucket_count() const { return state_->buckets.count(); }

 private:
  using Wide = compute_t<T>;

  // The sum over 1, 2, 4, ... shards.
  struct Level {
    std::vector<Tensor<Wide>> gradients;
    double loss;
  };

  struct State {
    template <Module M>
    State(M& model, const Axis& a, const DataParallelOptions& options)
        : axis(a),
          buckets(detail::same_on_all_ranks(named_parameters<T>(model), a.comm(), options.broadcast), a.comm(), options.bucket_bytes),
          other_leaves(options.other_leaves) {}

    template <Scalar L>
    void differentiate(const Tensor<L>& loss, bool reduces) {
      buckets.require_whole();
      const Tensor<L> seed = minitorch::detail::checked_seed("backward", loss, {});
      const auto check = [&](const Node& leaf) {
        if (!other_leaves) buckets.check(leaf);
      };
      if (loss.is_leaf()) check(*loss.body()->node.get());
      bool runs = false;
      try {
        Engine engine(BackwardOptions{});
        engine.add_root(loss, seed);
        engine.for_each_leaf(check);
        if (reduces) buckets.expect();
        runs = true;
        engine.run();
      } catch (...) {
        if (runs) drop_step();
        throw;
      }
    }
    void drop_step() {
      buckets.drop();
      sum = {};
      levels.clear();
      shards_done = 0;
    }

    // Shards are added as a binary counter carries: the tree needs one sum a level.
    void add_shard(double loss) {
      Level carry{buckets.take(), loss};
      for (int bit = 0; (shards_done >> bit & 1) != 0; ++bit) {
        const Level& before = levels.back();
        for (std::size_t b = 0; b < carry.gradients.size(); ++b)
          carry.gradients[b] = no_grad([&] { return add(before.gradients[b], carry.gradients[b]); });
        carry.loss = before.loss + carry.loss;
        levels.pop_back();
      }
      levels.push_back(std::move(carry));
      ++shards_done;
    }
    void put_tree() {
      if (shards_done != axis.local_shards() && shards_done != 0)
        fail<ArgumentError>("data parallel: finish() after backward() of ", shards_done, " shards, but the rank holds ",
                            axis.local_shards());
      if (shards_done != 0) buckets.put(levels.back().gradients);
      if (shards_done != 0) sum.loss = levels.back().loss;
      levels.clear();
      shards_done = 0;
    }

    Axis axis;
    detail::Buckets<T> buckets;
    bool other_leaves;
    BatchSum sum;
    std::vector<Level> levels;
    int shards_done = 0;
  };

  std::shared_ptr<State> state_;
};

}  // namespace minitorch::parallel
