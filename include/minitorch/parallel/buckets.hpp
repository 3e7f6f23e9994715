// Gradients of many parameters in a few long buffers that all ranks see, reduced while backward still runs.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/autograd/visit.hpp>
#include <minitorch/comm/communicator.hpp>

namespace minitorch::parallel::detail {

// The parameters from the last to the first, as backward reaches them, cut into buckets. Buckets are reduced in this order on every
// rank, whatever the order in which gradients arrive.
template <Scalar T>
class Buckets {
 public:
  using Wide = compute_t<T>;

  Buckets(std::vector<NamedParameter<T>> parameters, Communicator& comm, std::int64_t bucket_bytes)
      : comm_(&comm), parameters_(std::move(parameters)), used_(parameters_.size(), 0) {
    const MemoryScope in_arena(comm.memory());
    std::size_t last = parameters_.size();
    while (last > 0) {
      std::int64_t length = 0;
      std::size_t first = last;
      while (first > 0 && (first == last || (length + parameters_[first - 1].tensor.numel()) * std::int64_t{sizeof(Wide)} <= bucket_bytes))
        length += parameters_[--first].tensor.numel();
      buckets_.push_back({first, last, zeros<Wide>({length}), 0, {}});
      last = first;
    }
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      std::int64_t at = 0;
      for (std::size_t p = buckets_[b].last; p-- > buckets_[b].first; at += parameters_[p].tensor.numel()) places_.push_back({b, at});
    }
    std::reverse(places_.begin(), places_.end());
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      node(p).set_destination(slice(p).body());
      nodes_.push_back(parameters_[p].tensor.body()->node);
    }
    std::ranges::sort(nodes_, {}, &NodeRef::get);
  }
  Buckets(const Buckets&) = delete;
  Buckets& operator=(const Buckets&) = delete;
  ~Buckets() {  // the parameters may live longer, and other buckets may have them by now
    for (std::size_t p = 0; p < parameters_.size(); ++p)
      if (is_ours(p)) node(p).set_destination({});
  }

  const std::vector<NamedParameter<T>>& parameters() const { return parameters_; }

  // Throws ArgumentError for a leaf that is none of the parameters: its gradient would stay that of this rank alone.
  void check(const Node& leaf) const {
    if (!std::ranges::binary_search(nodes_, &leaf, {}, &NodeRef::get))
      fail<ArgumentError>("data parallel: the loss depends on a leaf of shape ", leaf.shape(),
                          " that requires a gradient but is none of the ", parameters_.size(),
                          " parameters: make another DataParallel after a parameter was replaced or added; the option other_leaves allows"
                          " leaves whose gradients stay this rank's");
  }

  // Forgets all gradients. It cannot once a sum over ranks has begun: other ranks may add to what lies there.
  void drop() {
    broken_ = expecting_ && next_ > 0;
    expecting_ = false;
    std::fill(used_.begin(), used_.end(), std::uint8_t{0});
    for (NamedParameter<T>& parameter : parameters_) parameter.tensor.zero_grad();
  }
  void require_whole() const {
    if (broken_) fail<GraphError>("data parallel: an earlier backward() failed after sums over ranks had begun; make another DataParallel");
  }

  // From here on a bucket is reduced as soon as its last gradient, and all buckets before it, are there.
  void expect() {
    next_ = 0;
    for (Bucket& bucket : buckets_) bucket.missing = bucket.last - bucket.first;
    expecting_ = true;
  }

  void arrived(std::size_t parameter) {
    used_[parameter] = 1;
    if (!expecting_) return;
    --buckets_[places_[parameter].bucket].missing;
    while (next_ < buckets_.size() && buckets_[next_].missing == 0) start(next_++);
  }

  // Reduces what is left and waits for all. A parameter that no rank has used keeps no gradient.
  void finish() {
    require_whole();
    for (std::size_t p = 0; p < parameters_.size(); ++p)
      if (!is_ours(p))
        fail<ArgumentError>("data parallel: the parameter '", parameters_[p].name,
                            "' was given another requires_grad, or another DataParallel, since this one was made; make a new one");
    if (!expecting_) next_ = 0;
    while (next_ < buckets_.size()) start(next_++);
    for (Bucket& bucket : buckets_) bucket.work.wait();
    ++thread_state.collectives;
    comm_->all_reduce(used_, Reduction::max);
    for (std::size_t p = 0; p < parameters_.size(); ++p)
      if (used_[p] == 0) parameters_[p].tensor.zero_grad();
    std::fill(used_.begin(), used_.end(), std::uint8_t{0});
    expecting_ = false;
  }

  // One division, in the accumulation type.
  void divide(double count) {
    for (Bucket& bucket : buckets_) {
      Wide* data = bucket.gradients.mutable_data();
      kernels::map(
          bucket.gradients.numel(), [c = static_cast<Wide>(count)](const auto& g) { return g / c; }, data, static_cast<const Wide*>(data));
    }
  }

  // The whole content, to be added to that of another shard.
  std::vector<Tensor<Wide>> take() {
    std::vector<Tensor<Wide>> contents;
    for (Bucket& bucket : buckets_) {
      fill(bucket);
      contents.push_back(no_grad([&] { return bucket.gradients.clone(); }));
    }
    for (NamedParameter<T>& parameter : parameters_) parameter.tensor.zero_grad();
    return contents;
  }
  void put(const std::vector<Tensor<Wide>>& contents) {
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      std::copy_n(contents[b].data(), contents[b].numel(), buckets_[b].gradients.mutable_data());
      for (std::size_t p = buckets_[b].first; p < buckets_[b].last; ++p) parameters_[p].tensor.set_grad(slice(p));
    }
  }

  std::int64_t count() const { return static_cast<std::int64_t>(buckets_.size()); }

 private:
  struct Bucket {
    std::size_t first, last;  // its parameters
    Tensor<Wide> gradients;
    std::size_t missing;
    Work work;
  };
  struct Place {
    std::size_t bucket;
    std::int64_t offset;
  };

  GradNode<T>& node(std::size_t parameter) { return minitorch::detail::graph_node(parameters_[parameter].tensor, "DataParallel"); }
  Tensor<Wide> slice(std::size_t parameter) {
    const Place& place = places_[parameter];
    const Tensor<T>& like = parameters_[parameter].tensor;
    return buckets_[place.bucket].gradients.slice(place.offset, place.offset + like.numel()).reshape(like.shape());
  }

  // Whether the parameter's gradient is still written to its slice and told to us.
  bool is_ours(std::size_t parameter) {
    if (!parameters_[parameter].tensor.requires_grad()) return false;
    const BodyRef& destination = node(parameter).destination();
    return destination && destination->data == slice(parameter).body()->data;
  }

  // The gradients of a bucket are its slices: almost always they are already, as backward writes there. What lies elsewhere (set by
  // hand, or part of a graph) is copied, and what has not come is zero.
  void fill(Bucket& bucket) {
    for (std::size_t p = bucket.first; p < bucket.last; ++p) {
      Tensor<T>& parameter = parameters_[p].tensor;
      const Tensor<Wide> held = parameter.grad();
      Tensor<Wide> here = slice(p);
      if (held.defined() && held.data() == here.data()) continue;
      if (held.defined())
        std::copy_n(held.data(), here.numel(), here.mutable_data());
      else
        std::fill_n(here.mutable_data(), here.numel(), Wide(0));
      parameter.set_grad(here);
    }
  }

  void start(std::size_t b) {
    fill(buckets_[b]);
    ++thread_state.collectives;
    buckets_[b].work = comm_->start_all_reduce(buckets_[b].gradients.mutable_values());
  }

  Communicator* comm_;
  std::vector<NamedParameter<T>> parameters_;
  std::vector<NodeRef> nodes_;  // of the parameters, by address
  std::vector<Bucket> buckets_;
  std::vector<Place> places_;
  std::vector<std::uint8_t> used_;
  std::size_t next_ = 0;
  bool expecting_ = false;
  bool broken_ = false;  // a step was dropped while its sums were under way
};

}  // namespace minitorch::parallel::detail
