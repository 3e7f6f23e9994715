// Scratch memory of a kernel: uninitialised, aligned to 64 bytes, from the calling thread's pool; null when empty.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <minitorch/memory/pool.hpp>

namespace minitorch {

template <class T>
class Workspace {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit Workspace(std::int64_t count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(T)), data_(count == 0 ? nullptr : static_cast<T*>(memory::allocate(bytes_))) {}
  ~Workspace() {
    if (data_ != nullptr) memory::deallocate(data_, bytes_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  T* data() const { return data_; }
  T& operator[](std::int64_t index) const { return data_[index]; }

 private:
  std::size_t bytes_;
  T* data_;
};

}  // namespace minitorch
