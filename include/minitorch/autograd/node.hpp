// A node of the graph: 64 bytes that the engine works with; what an operation adds follows behind. Destruction never recurses.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <minitorch/autograd/body.hpp>
#include <minitorch/autograd/node_ref.hpp>
#include <minitorch/autograd/state.hpp>
#include <minitorch/memory/pool.hpp>

namespace minitorch {

// One result of an operation that was recorded, or a leaf. It has one output, whose gradient gathers in grad_.
// A graph belongs to the thread that built it: counts are plain.
class Node {
 public:
  virtual const char* name() const = 0;
  virtual const Shape& shape() const = 0;

  // The nodes of the inputs; a null edge is an input that needs no gradient.
  std::span<const NodeRef> edges() const { return {edges_, edge_count_}; }

  bool is_leaf() const { return is_leaf_; }

  // True once a backward pass has freed what the node had saved.
  bool released() const { return released_; }

  // False in a pass of grad() that reaches none of its inputs from here.
  bool needed() const { return needed_; }

  static void* operator new(std::size_t bytes) { return memory::allocate(bytes); }
  static void operator delete(void* node, std::size_t bytes) { memory::deallocate(node, bytes); }

  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

 protected:
  Node() : sequence_(++autograd_state.sequence) {}
  virtual ~Node() = default;

  // Takes the gathered gradient and hands each input its own. A leaf adds it to what earlier passes have left.
  virtual void run() = 0;
  // Brings the gathered gradient into the type of the result and through the tensor's hooks.
  virtual void finish() = 0;
  // Anomaly mode: throws GraphError if what has gathered so far, lately from `source`, holds a NaN or an infinity.
  virtual void check_gradient(const char* source) const = 0;
  // Calls what waits for a leaf's gradient.
  virtual void after_accumulate() {}
  // The gradient that stays from pass to pass.
  virtual bool has_total() const = 0;
  virtual void drop_total() = 0;
  // Drops the saved values. Returns whether there were any.
  virtual bool release() { return false; }

  void set_edges(const NodeRef* edges, std::size_t count) {
    edges_ = edges;
    edge_count_ = static_cast<std::uint32_t>(count);
  }

  BodyRef grad_;  // what has arrived in this backward pass

 private:
  friend class NodeRef;
  friend class Engine;
  template <Scalar T>
  friend class GradNode;
  template <Scalar T>
  friend class Leaf;

  static void drain(Node* dead);

  std::uint64_t sequence_;   // inputs have smaller numbers than results
  std::uint64_t epoch_ = 0;  // the backward pass that works with it; 0: none
  Node* next_dead_ = nullptr;
  const NodeRef* edges_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t pending_ = 0;  // contributions still to come in this pass
  std::uint32_t edge_count_ = 0;
  bool is_leaf_ : 1 = false;
  bool has_hooks_ : 1 = false;        // finish() has more to do than to convert
  bool has_after_hooks_ : 1 = false;  // after_accumulate() has something to do
  bool released_ : 1 = false;
  bool direct_ : 1 = false;    // this pass: a leaf whose contributions go straight into its gradient
  bool needed_ : 1 = true;     // this pass: an input of grad() can be reached from here
  bool captured_ : 1 = false;  // this pass: its gradient is what grad() asks for
  bool fresh_ : 1 = false;     // this pass: found no gradient that stays, so that a failure takes back the one it made
};
static_assert(sizeof(Node) == 64);

inline void NodeRef::acquire() const {
  if (node_ != nullptr) ++node_->count_;
}

inline void NodeRef::drop() {
  Node* node = std::exchange(node_, nullptr);
  if (node != nullptr && --node->count_ == 0) Node::drain(node);
}

// Nodes that die while another is being destroyed wait in a list, so that a chain of any length needs one stack frame.
inline void Node::drain(Node* dead) {
  dead->next_dead_ = std::exchange(autograd_state.dead, dead);
  if (autograd_state.draining) return;
  autograd_state.draining = true;
  while (Node* node = autograd_state.dead) {
    autograd_state.dead = node->next_dead_;
    delete node;
  }
  autograd_state.draining = false;
}

}  // namespace minitorch
