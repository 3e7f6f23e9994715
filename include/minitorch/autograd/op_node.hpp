// The node of a recorded operation: one class a scalar type, whatever the operation. What differs lies behind it in memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include <minitorch/autograd/grad_node.hpp>
#include <minitorch/autograd/saved.hpp>

namespace minitorch::detail {

template <Scalar T>
class OpNode;

// What an operation does with its nodes.
template <Scalar T>
struct OpRules {
  void (*run)(OpNode<T>& node, Tensor<T>& dy);  // hands each input its gradient; may take dy
  void (*destroy_values)(void* values);         // null: nothing to do
};

// What a slot is made of; null: the slot stays empty.
struct SlotSource {
  const BodyRef* value = nullptr;
  bool own_result = false;
};

// One block of memory: the node, its edges, its saved slots, the plain values that the rules need.
template <Scalar T>
class OpNode final : public GradNode<T> {
 public:
  // A node without its rules, with the nodes of `inputs` as edges and room for values. A hook that packs a slot may throw. Compiled
  // once for each pair of counts, which operations share.
  template <std::size_t Edges, std::size_t Slots>
  [[gnu::noinline]] static NodeRef create(const char* name, const Shape& shape, const std::array<const BodyRef*, Edges>& inputs,
                                          const std::array<SlotSource, Slots>& sources, std::size_t value_bytes) {
    const std::size_t bytes = sizeof(OpNode) + inputs.size() * sizeof(NodeRef) + sources.size() * sizeof(AnySaved) + value_bytes;
    auto* node = ::new (memory::allocate(bytes)) OpNode(name, shape, static_cast<std::uint32_t>(bytes));
    NodeRef owner(node);
    NodeRef* edges = node->edge_room();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const TensorBody* input = inputs[i]->get();
      std::construct_at(edges + i, input != nullptr ? input->node.get() : nullptr);
    }
    node->set_edges(edges, inputs.size());
    for (const SlotSource& slot : sources) {
      if (slot.value != nullptr)
        std::construct_at(node->saved() + node->slot_count_, *slot.value, slot.own_result, name);
      else
        std::construct_at(node->saved() + node->slot_count_);
      ++node->slot_count_;
    }
    return owner;
  }

  // Once the values are there.
  void set_rules(const OpRules<T>& rules) { rules_ = &rules; }

  AnySaved* saved() { return reinterpret_cast<AnySaved*>(edge_room() + this->edges().size()); }
  void* values() { return saved() + slot_count_; }

  [[gnu::flatten]] static void operator delete(OpNode* node, std::destroying_delete_t) {
    const std::size_t bytes = node->bytes_;
    node->~OpNode();
    memory::deallocate(node, bytes);
  }

 private:
  OpNode(const char* name, const Shape& shape, std::uint32_t bytes) : GradNode<T>(name, shape), bytes_(bytes) {}
  ~OpNode() override {
    if (rules_ != nullptr && rules_->destroy_values != nullptr) rules_->destroy_values(values());
    std::destroy_n(saved(), slot_count_);
    std::destroy_n(edge_room(), this->edges().size());
  }

  NodeRef* edge_room() { return reinterpret_cast<NodeRef*>(this + 1); }

  void run() override {
    Tensor<T> dy = this->take_gradient();
    rules_->run(*this, dy);
  }
  bool release() override {
    bool had = false;
    for (AnySaved& slot : std::span(saved(), slot_count_)) had = slot.release() || had;
    return had;
  }

  const OpRules<T>* rules_ = nullptr;
  std::uint32_t bytes_;
  std::uint32_t slot_count_ = 0;
};

}  // namespace minitorch::detail
