// What a tensor handle points to: shape, buffer and place in the graph. Typed by a tag, so that hooks and files need no template.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <minitorch/autograd/node_ref.hpp>
#include <minitorch/core/scalar.hpp>
#include <minitorch/core/shape.hpp>
#include <minitorch/memory/buffer.hpp>

namespace minitorch {

struct TensorBody {
  TensorBody(DType type, const Shape& s, BufferRef b, std::byte* d) : dtype(type), shape(s), buffer(std::move(b)), data(d) {}

  static void* operator new(std::size_t bytes) { return memory::allocate(bytes); }
  static void operator delete(void* body, std::size_t bytes) { memory::deallocate(body, bytes); }

  std::atomic<std::uint32_t> count{1};
  DType dtype;
  Shape shape;
  BufferRef buffer;
  std::byte* data;  // the first element; inside buffer
  NodeRef node;     // null: not part of a graph
};

class BodyRef {
 public:
  BodyRef() = default;
  explicit BodyRef(TensorBody* adopted) : body_(adopted) {}
  BodyRef(const BodyRef& other) : body_(other.body_) {
    if (body_ != nullptr) body_->count.fetch_add(1, std::memory_order_relaxed);
  }
  BodyRef(BodyRef&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  BodyRef& operator=(BodyRef other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~BodyRef() { reset(); }

  // An uninitialised body. Throws std::bad_alloc, ShapeError for more bytes than can be counted.
  static BodyRef empty(DType type, const Shape& shape) {
    BufferRef buffer = BufferRef::allocate(shape.bytes(dtype_size(type)));
    std::byte* data = buffer->data();
    return BodyRef(new TensorBody(type, shape, std::move(buffer), data));
  }

  void reset() noexcept {
    TensorBody* body = std::exchange(body_, nullptr);
    if (body != nullptr && (unique(body) || body->count.fetch_sub(1, std::memory_order_acq_rel) == 1)) destroy(body);
  }

  TensorBody* get() const { return body_; }
  TensorBody* operator->() const { return body_; }
  explicit operator bool() const { return body_ != nullptr; }

  // True when nobody else can see the data: one handle, one body on the buffer, no saved slot.
  bool exclusive() const { return body_ != nullptr && unique(body_) && body_->buffer->unique(); }

 private:
  [[gnu::noinline, gnu::flatten]] static void destroy(TensorBody* body) noexcept { delete body; }
  static bool unique(const TensorBody* body) { return body->count.load(std::memory_order_acquire) == 1; }
  TensorBody* body_ = nullptr;
};

}  // namespace minitorch
