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

template <Element T>
class Saved {
 public:
  // Packs `value`; an undefined one stays undefined. The edge to a node's own result stays weak, or nothing would ever die.
  Saved(const Tensor<T>& value, bool own_result, const char* operation) : own_(own_result) {
    if (!value.defined()) return;
    shape_ = value.shape();
    if (!own_) producer_ = value.body()->node;
    const HookScope* scope = autograd_state.hooks;
    if (scope != nullptr && scope->hooks != nullptr) [[unlikely]] {
      pack(value, scope->hooks, operation);
      return;
    }
    buffer_ = value.body()->buffer;
    data_ = value.body()->data;
    version_ = buffer_->version();
  }

  // The value, at its place in the graph. Throws GraphError if it was written to since.
  Tensor<T> unpack(Node* owner, const char* operation) const {
    if (!buffer_ && ticket_ == nullptr) return {};
    BodyRef body;
    if (ticket_ != nullptr) [[unlikely]] {
      body = unpack_ticket(operation);
    } else {
      if (buffer_->version() != version_)
        fail<GraphError>(operation, ": a value of shape ", shape_, " that backward needs was modified in place: it is at version ",
                         buffer_->version(), ", saved at version ", version_);
      body = BodyRef(new TensorBody(dtype_of<T>, shape_, buffer_, data_));
    }
    body->node = own_ ? NodeRef(owner) : producer_;
    return Tensor<T>(std::move(body));
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

  void pack(const Tensor<T>& value, const std::shared_ptr<SavedHooks>& hooks, const char* operation) {
    const Tensor<T> plain = value.detach();
    const std::uint32_t before = plain.body()->buffer->version();
    const HookScope none(nullptr);  // what the hook itself computes is not packed again
    const Scoped<&ThreadState::grad_enabled> no_grad(false);
    ticket_ = std::make_shared<Ticket>(Ticket{hooks->pack(AnyTensor(plain), {operation, value.is_leaf()}), hooks});
    if (plain.body()->buffer->version() != before)
      fail<GraphError>(operation, ": a pack hook must not modify its input, of shape ", shape_);
  }

  BodyRef unpack_ticket(const char* operation) const {
    AnyTensor value = ticket_->hooks->unpack(ticket_->value);
    if (!value.defined() || value.dtype() != dtype_of<T> || !(value.shape() == shape_))
      fail<GraphError>(operation, ": an unpack hook must return ", dtype_name(dtype_of<T>), " of shape ", shape_, ", got ",
                       value.defined() ? dtype_name(value.dtype()) : "nothing", " of shape ", value.defined() ? value.shape() : Shape{});
    return value.as<T>().alias();
  }

  Shape shape_;
  BufferRef buffer_;
  std::byte* data_ = nullptr;
  NodeRef producer_;
  std::shared_ptr<Ticket> ticket_;
  std::uint32_t version_ = 0;
  bool own_;
};

}  // namespace minitorch
