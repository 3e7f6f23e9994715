// A slot of a node: a value that the backward pass needs, kept as data or as a hook's ticket, with the version it had.
// SPDX-License-Identifier: MIT
#pragma once

#include <any>
#include <cstdint>
#include <memory>
#include <utility>

#include <minitorch/autograd/hooks.hpp>
#include <minitorch/autograd/tensor.hpp>

namespace minitorch {

// The slot without its type.
class AnySaved {
 public:
  AnySaved() = default;  // empty
  // Packs `value`; an undefined one stays undefined. The edge to a node's own result stays weak, or nothing would ever die.
  AnySaved(const BodyRef& value, bool own_result, const char* operation) : own_(own_result) {
    if (!value) return;
    shape_ = value->shape;
    type_ = value->dtype;
    if (!own_) producer_ = value->node;
    const HookScope* scope = autograd_state.hooks;
    if (scope != nullptr && scope->hooks != nullptr) [[unlikely]] {
      pack(value, scope->hooks, operation);
      return;
    }
    buffer_ = value->buffer;
    data_ = value->data;
    version_ = buffer_->version();
  }

  // The value, at its place in the graph; null if it was undefined. Throws GraphError if it was written to since.
  BodyRef unpack(Node* owner, const char* operation) const {
    BodyRef body;
    if (buffer_) {
      if (buffer_->version() != version_) [[unlikely]]
        modified(operation);
      body = BodyRef(new TensorBody(type_, shape_, buffer_, data_));
    } else if (ticket_ != nullptr) {
      body = unpack_ticket(operation);
    } else {
      return body;
    }
    body->node = own_ ? NodeRef(owner) : producer_;
    return body;
  }

  // Lets the value go. Returns whether there was one.
  bool release() {
    const bool had = buffer_ || ticket_ != nullptr;
    buffer_.reset();
    ticket_.reset();
    return had;
  }

 private:
  struct Ticket {
    std::any value;
    std::shared_ptr<SavedHooks> hooks;
  };

  [[gnu::noinline]] void pack(const BodyRef& value, const std::shared_ptr<SavedHooks>& hooks, const char* operation) {
    const AnyTensor plain(BodyRef(new TensorBody(type_, shape_, value->buffer, value->data)));
    const std::uint32_t before = value->buffer->version();
    const HookScope none(nullptr);  // what the hook itself computes is not packed again
    const Scoped<&ThreadState::grad_enabled> no_grad(false);
    const bool is_leaf = !own_ && (!value->node || value->node->is_leaf());
    ticket_ = std::make_unique<Ticket>(Ticket{hooks->pack(plain, {operation, is_leaf}), hooks});
    if (value->buffer->version() != before) fail<GraphError>(operation, ": a pack hook must not modify its input, of shape ", shape_);
  }

  [[gnu::noinline]] BodyRef unpack_ticket(const char* operation) const {
    const AnyTensor value = ticket_->hooks->unpack(ticket_->value);
    if (!value.defined() || value.dtype() != type_ || !(value.shape() == shape_))
      fail<GraphError>(operation, ": an unpack hook must return ", dtype_name(type_), " of shape ", shape_, ", got ",
                       value.defined() ? dtype_name(value.dtype()) : "nothing", " of shape ", value.defined() ? value.shape() : Shape{});
    return BodyRef(new TensorBody(type_, shape_, value.body()->buffer, value.body()->data));
  }

  [[noreturn, gnu::cold, gnu::noinline]] void modified(const char* operation) const {
    fail<GraphError>(operation, ": a value of shape ", shape_, " that backward needs was modified in place: it is at version ",
                     buffer_->version(), ", saved at version ", version_);
  }

  BufferRef buffer_;
  std::byte* data_ = nullptr;
  NodeRef producer_;
  std::unique_ptr<Ticket> ticket_;
  std::uint32_t version_ = 0;
  DType type_ = DType::f64;
  bool own_ = false;
  Shape shape_;
};

template <Element T>
class Saved {
 public:
  Saved(const Tensor<T>& value, bool own_result, const char* operation) : any_(value.body(), own_result, operation) {}
  Tensor<T> unpack(Node* owner, const char* operation) const { return Tensor<T>(any_.unpack(owner, operation)); }
  bool release() { return any_.release(); }

 private:
  AnySaved any_;
};

}  // namespace minitorch
