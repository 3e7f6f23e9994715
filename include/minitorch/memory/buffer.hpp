// A counted block of tensor data with a version, from the pool, from any std::pmr::memory_resource, or of an outside owner.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <utility>

#include <minitorch/memory/counters.hpp>
#include <minitorch/memory/pool.hpp>

namespace minitorch {

namespace memory::detail {
inline constinit thread_local std::pmr::memory_resource* current_resource = nullptr;  // null: the pool
}

// The header of a block. Pool blocks carry their data right behind it, a number or two inside it; the others point to it.
class alignas(64) Buffer {
 public:
  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

  // Counts the writes in place: a saved value whose version has moved on is stale.
  std::uint32_t version() const { return version_; }
  void bump_version() { ++version_; }

  // True once a tensor shares a part of this buffer with another.
  bool has_views() const { return has_views_.load(std::memory_order_relaxed); }
  void mark_views() { has_views_.store(true, std::memory_order_relaxed); }  // threads may take views of one parameter

  bool unique() const { return count_.load(std::memory_order_acquire) == 1; }

 private:
  friend class BufferRef;
  struct External {
    std::pmr::memory_resource* resource = nullptr;
    std::function<void()> release;
  };

  Buffer(std::byte* data, std::int64_t bytes, External* external) : data_(data), bytes_(bytes), external_(external) {}
  void destroy() noexcept;
  void release_external() noexcept;

  std::atomic<std::uint32_t> count_{1};
  std::uint32_t version_ = 0;
  std::byte* data_;
  std::int64_t bytes_;
  External* external_;  // null for a pool block
  std::atomic<bool> has_views_{false};

  static constexpr std::int64_t inside_bytes = 16;
  static constexpr std::size_t block_bytes(std::int64_t bytes) {
    return sizeof(Buffer) + (bytes <= inside_bytes ? 0 : static_cast<std::size_t>(bytes));
  }
  alignas(inside_bytes) std::byte inside_[inside_bytes];  // the data, when it fits: one cache line less for a scalar
};
static_assert(sizeof(Buffer) == 64);

// A shared owner of a Buffer.
class BufferRef {
 public:
  BufferRef() = default;
  BufferRef(const BufferRef& other) : buffer_(other.buffer_) {
    if (buffer_ != nullptr) buffer_->count_.fetch_add(1, std::memory_order_relaxed);
  }
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() { reset(); }

  void reset() noexcept {
    Buffer* buffer = std::exchange(buffer_, nullptr);
    if (buffer == nullptr) return;
    // A sole owner needs no read-modify-write: nobody else can take a count.
    if (buffer->unique() || buffer->count_.fetch_sub(1, std::memory_order_acq_rel) == 1) buffer->destroy();
  }

  Buffer* operator->() const { return buffer_; }
  Buffer* get() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }

  // Uninitialised memory from the thread's current resource. Throws std::bad_alloc.
  static BufferRef allocate(std::int64_t bytes) {
    if (std::pmr::memory_resource* resource = memory::detail::current_resource) return allocate_from(resource, bytes);
    auto* block = static_cast<std::byte*>(memory::allocate(Buffer::block_bytes(bytes)));
    memory::detail::count_bytes(bytes);
    auto* buffer = new (block) Buffer(block + sizeof(Buffer), bytes, nullptr);
    if (bytes <= Buffer::inside_bytes) buffer->data_ = buffer->inside_;
    return BufferRef(buffer);
  }

  // Uninitialised memory from `resource`, which must outlive it. The header stays out of it: ranks share the data, not the counts.
  [[gnu::noinline]] static BufferRef allocate_from(std::pmr::memory_resource* resource, std::int64_t bytes) {
    auto external = std::make_unique<Buffer::External>(Buffer::External{resource, {}});
    void* data = resource->allocate(static_cast<std::size_t>(bytes), memory::block_alignment);
    memory::detail::count_bytes(bytes);
    return BufferRef(new (memory::allocate(sizeof(Buffer))) Buffer(static_cast<std::byte*>(data), bytes, external.release()));
  }

  // Memory of somebody else; `release` is called when the last owner is gone.
  static BufferRef wrap(void* data, std::int64_t bytes, std::function<void()> release) {
    auto external = std::make_unique<Buffer::External>(Buffer::External{nullptr, std::move(release)});
    return BufferRef(new (memory::allocate(sizeof(Buffer))) Buffer(static_cast<std::byte*>(data), bytes, external.release()));
  }

 private:
  explicit BufferRef(Buffer* buffer) : buffer_(buffer) {}
  Buffer* buffer_ = nullptr;
};

inline void Buffer::destroy() noexcept {
  if (external_ != nullptr) [[unlikely]]
    return release_external();
  const std::int64_t bytes = bytes_;
  memory::detail::count_bytes(-bytes);
  this->~Buffer();
  memory::deallocate(this, block_bytes(bytes));
}

[[gnu::noinline]] inline void Buffer::release_external() noexcept {
  const std::unique_ptr<External> external(external_);
  if (external->resource != nullptr) {
    external->resource->deallocate(data_, static_cast<std::size_t>(bytes_), memory::block_alignment);
    memory::detail::count_bytes(-bytes_);
  } else if (external->release) {
    external->release();
  }
  this->~Buffer();
  memory::deallocate(this, sizeof(Buffer));
}

// For a scope, the calling thread's new tensors take their memory from `resource`, which must outlive them.
class MemoryScope {
 public:
  explicit MemoryScope(std::pmr::memory_resource* resource) : old_(std::exchange(memory::detail::current_resource, resource)) {}
  ~MemoryScope() { memory::detail::current_resource = old_; }
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

 private:
  std::pmr::memory_resource* old_;
};

}  // namespace minitorch
