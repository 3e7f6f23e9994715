// One rank's part of the shared region as a memory resource: what lives here, peers can read and write without a copy.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory_resource>
#include <mutex>
#include <vector>

#include <minitorch/comm/region.hpp>

namespace minitorch::comm {

// First fit over a list of free ranges that grow together again. The list is private to its process; only the bytes are shared.
// Pages are requested from the system when a range is first used. Throws CommError with the sizes when there is no room.
class Arena final : public std::pmr::memory_resource {
 public:
  Arena(const Region& region, std::int64_t offset, std::int64_t size)
      : region_(&region), offset_(offset), size_(size), committed_(static_cast<std::size_t>((size + granule - 1) / granule)) {
    if (size > 0) free_.emplace(0, size);
  }

  std::int64_t capacity() const { return size_; }
  std::int64_t live() const { return live_; }

  // A range without pages: the caller commits what it uses. 128-byte lines; large ranges start at a page.
  std::byte* reserve(std::int64_t bytes) {
    const std::int64_t size = rounded(bytes), align = alignment(size);
    const std::scoped_lock lock(mutex_);
    for (auto range = free_.begin(); range != free_.end(); ++range) {
      const auto [first, length] = *range;
      const std::int64_t start = (first + align - 1) / align * align, gap = start - first;
      if (length < gap + size) continue;
      free_.erase(range);
      if (gap > 0) free_.emplace(first, gap);
      if (length > gap + size) free_.emplace(start + size, length - gap - size);
      live_ += size;
      return region_->base() + offset_ + start;
    }
    fail<CommError>("arena: ", bytes, " bytes were requested, ", size_ - live_, " of ", size_,
                    " are free (in pieces); launch with a larger arena");
  }

  // Gives pages to a reserved range.
  void commit(const std::byte* from, std::int64_t bytes) {
    const std::int64_t first = from - region_->base() - offset_;
    const std::scoped_lock lock(mutex_);
    for (std::int64_t g = first / granule; g * granule < first + bytes; ++g) {
      if (committed_[static_cast<std::size_t>(g)]) continue;
      region_->commit(offset_ + g * granule, (std::min)(granule, size_ - g * granule));
      committed_[static_cast<std::size_t>(g)] = true;
    }
  }

  void release(std::byte* from, std::int64_t bytes) noexcept {
    std::int64_t first = from - region_->base() - offset_, size = rounded(bytes);
    const std::scoped_lock lock(mutex_);
    live_ -= size;
    auto next = free_.lower_bound(first);
    if (next != free_.end() && next->first == first + size) {
      size += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      if (const auto before = std::prev(next); before->first + before->second == first) {
        before->second += size;
        return;
      }
    }
    free_.emplace_hint(next, first, size);
  }

 private:
  static constexpr std::int64_t granule = std::int64_t{1} << 21, page = 4096, line = 128;

  static constexpr std::int64_t rounded(std::int64_t bytes) {
    const std::int64_t unit = bytes >= 16 * page ? page : line;
    return ((std::max)(bytes, std::int64_t{1}) + unit - 1) / unit * unit;
  }
  static constexpr std::int64_t alignment(std::int64_t size) { return size >= 16 * page ? page : line; }

  void* do_allocate(std::size_t bytes, std::size_t) override {
    const std::int64_t size = static_cast<std::int64_t>(bytes);
    std::byte* const range = reserve(size);
    try {
      commit(range, size);
    } catch (...) {
      release(range, size);
      throw;
    }
    return range;
  }
  void do_deallocate(void* range, std::size_t bytes, std::size_t) override {
    release(static_cast<std::byte*>(range), static_cast<std::int64_t>(bytes));
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  const Region* region_;
  std::int64_t offset_, size_, live_ = 0;
  std::map<std::int64_t, std::int64_t> free_;  // first byte -> bytes
  std::vector<bool> committed_;                // by granule
  std::mutex mutex_;
};

}  // namespace minitorch::comm
