// A counted reference to a node of the graph.
// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

namespace minitorch {

class Node;

class NodeRef {
 public:
  NodeRef() = default;
  explicit NodeRef(Node* node) : node_(node) { acquire(); }
  NodeRef(const NodeRef& other) : node_(other.node_) { acquire(); }
  NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodeRef& operator=(NodeRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodeRef() {
    if (node_ != nullptr) drop();
  }

  Node* get() const { return node_; }
  Node* operator->() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }

 private:
  void acquire() const;
  void drop();
  Node* node_ = nullptr;
};

}  // namespace minitorch
