// The backward pass: nodes in the reverse order of their creation, each once, with explicit stacks and never by recursion.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <minitorch/autograd/grad_node.hpp>
#include <minitorch/autograd/tensor.hpp>

namespace minitorch {

// One backward pass. Passes nest: a rule, a hook or a recomputed region may run one of its own over nodes that this one uses.
class Engine {
 public:
  explicit Engine(BackwardOptions options)
      : options_(options), grad_enabled_(options.create_graph), nested_(autograd_state.depth++ > 0), epoch_(++autograd_state.epoch) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  // Whatever happened, no gradient of this pass stays under way, and an outer pass finds its nodes as it left them. A pass that failed
  // takes back the gradients that it made; what it has added to those of earlier passes is added.
  ~Engine() {
    for (Node* node : visited_) {
      node->grad_.reset();
      if (node->fresh_ && !finished_) node->drop_total();
      node->fresh_ = false;
      node->epoch_ = 0;  // an idle node knows no pass: the next one may come from another thread
      node->captured_ = false;
      node->direct_ = false;
      node->needed_ = true;
    }
    for (Outer& outer : outer_) {
      outer.node->grad_ = std::move(outer.grad);
      outer.node->epoch_ = outer.epoch;
      outer.node->pending_ = outer.pending;
      outer.node->captured_ = outer.captured;
      outer.node->direct_ = outer.direct;
      outer.node->needed_ = outer.needed;
      outer.node->fresh_ = outer.fresh;
    }
    if (--autograd_state.depth == 0) end_pass();
  }

  // Starts at `root` with the gradient `seed`. All roots come before run().
  template <Scalar T>
  void add_root(const Tensor<T>& root, const Tensor<T>& seed) {
    Node* node = root.body()->node.get();
    if (std::none_of(roots_.begin(), roots_.end(), [&](const NodeRef& known) { return known.get() == node; }))
      roots_.push_back(root.body()->node);
    visit(node);
    static_cast<GradNode<T>*>(node)->accumulate(seed);
  }

  // Asks for the gradient at `input` instead of adding to leaves. All captures come before the roots.
  template <Scalar T>
  void capture(const Tensor<T>& input) {
    Node* node = input.body()->node.get();
    capturing_ = true;
    inputs_.push_back(input.body()->node);  // a hook may drop the tensor
    visit(node);
    node->captured_ = true;
  }

  // Calls visitor(const Node&) for every leaf below the roots, while nothing has been computed yet. Comes after the last root.
  template <class Visitor>
  void for_each_leaf(Visitor&& visitor) {
    count_contributions();
    for (const Node* node : visited_)
      if (node->is_leaf()) visitor(*node);
  }

  void run() {
    count_contributions();
    if (capturing_) mark_needed();
    for (const NodeRef& root : roots_) make_ready(root.get());
    while (Node* node = take_newest()) {
      if (node->grad_) run_node(node);
      for (const NodeRef& edge : node->edges())
        if (edge && --edge->pending_ == 0) make_ready(edge.get());
    }
    finished_ = true;
  }

  // What arrived at the captured input `index`, in the order of capture(); undefined if nothing did.
  BodyRef captured(std::size_t index) const {
    for (const auto& [node, gradient] : captures_)
      if (node == inputs_[index].get()) return gradient;
    return {};
  }

 private:
  struct Outer {
    Node* node;
    BodyRef grad;
    std::uint64_t epoch;
    std::uint32_t pending;
    bool captured, direct, needed, fresh;
  };

  static bool older(const Node* a, const Node* b) { return a->sequence_ < b->sequence_; }

  void visit(Node* node) {
    if (node->epoch_ == epoch_) return;
    if (nested_)
      outer_.push_back({node, std::exchange(node->grad_, {}), node->epoch_, node->pending_, node->captured_, node->direct_, node->needed_,
                        node->fresh_});
    node->epoch_ = epoch_;
    node->pending_ = 0;
    node->captured_ = false;
    node->needed_ = true;
    node->direct_ = node->is_leaf_ && !capturing_ && !node->has_hooks_;
    node->fresh_ = (node->is_leaf_ || node->has_hooks_) && !node->has_total();
    visited_.push_back(node);
  }

  void count_contributions() {
    for (; counted_ < visited_.size(); ++counted_) {  // visited_ is the queue as well
      for (const NodeRef& edge : visited_[counted_]->edges()) {
        if (!edge) continue;
        visit(edge.get());
        ++edge->pending_;
      }
    }
  }

  // Inputs are older than results: in ascending order every edge is decided before its node.
  void mark_needed() {
    std::vector<Node*> ascending = visited_;
    std::sort(ascending.begin(), ascending.end(), older);
    for (Node* node : ascending) node->needed_ = node->captured_ || leads_on(node);
  }
  static bool leads_on(const Node* node) {
    const auto edges = node->edges();
    return std::any_of(edges.begin(), edges.end(), [](const NodeRef& edge) { return edge && edge->needed_; });
  }

  void make_ready(Node* node) {
    if (node->pending_ > 0) return;  // a root that another root depends on
    if (node->is_leaf_) return run_leaf(node);
    if (newest_ != nullptr && older(node, newest_)) std::swap(node, newest_);
    if (Node* waiting = std::exchange(newest_, node)) {
      ready_.push_back(waiting);
      std::push_heap(ready_.begin(), ready_.end(), older);
    }
  }

  Node* take_newest() {
    Node* node = std::exchange(newest_, nullptr);
    if (!ready_.empty()) {
      std::pop_heap(ready_.begin(), ready_.end(), older);
      newest_ = ready_.back();
      ready_.pop_back();
    }
    return node;
  }

  void run_leaf(Node* leaf) {
    if (!leaf->direct_ && leaf->grad_) {
      finish(leaf);
      if (!capturing_) leaf->run();
    }
    if (capturing_) return;
    if (leaf->has_after_hooks_) leaf->after_accumulate();
  }

  void run_node(Node* node) {
    if (!node->needed_) return;
    if (node->has_hooks_ || node->captured_) finish(node);
    if (node->captured_ && !leads_on(node)) return;  // the end of the way: what it has saved stays for others
    if (node->released_)
      fail<GraphError>("backward: what ", node->name(),
                       " had saved was freed by an earlier backward; pass retain_graph = true to that one");
    node->run();
    if (thread_state.anomaly_mode) [[unlikely]]
      for (const NodeRef& edge : node->edges())
        if (edge) edge->check_gradient(node->name());
    if (!options_.retain_graph && !options_.create_graph) node->released_ = node->release();
  }

  void finish(Node* node) {
    node->finish();
    if (node->captured_) captures_.emplace_back(node, node->grad_);
  }

  BackwardOptions options_;
  Scoped<&ThreadState::grad_enabled> grad_enabled_;
  bool nested_;
  bool capturing_ = false;
  bool finished_ = false;
  std::uint64_t epoch_;
  std::vector<NodeRef> roots_;
  std::vector<NodeRef> inputs_;  // captured
  std::vector<Node*> visited_;
  std::size_t counted_ = 0;   // of these, those whose edges have been followed
  Node* newest_ = nullptr;    // of the nodes that are ready; in a chain the only one
  std::vector<Node*> ready_;  // the others: a heap, the newest first
  std::vector<std::pair<Node*, BodyRef>> captures_;
  std::vector<Outer> outer_;
};

}  // namespace minitorch
