// The pool: free lists by size class, one set per thread. Blocks are aligned to 64 bytes.
// SPDX-License-Identifier: MIT
//
// Memory is kept, because the first touch of a page costs more than most operations on it.
// A block freed by another thread joins that thread's lists.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <mutex>

#include <minitorch/memory/system_pages.hpp>

namespace minitorch::memory {

inline constexpr std::size_t block_alignment = 64;

namespace detail {

// Classes 0..7 are multiples of 64 bytes up to 512; above, every power of two has four steps, so at most a fifth is unused.
inline constexpr std::size_t class_count = 8 + 4 * 40;
inline constexpr std::size_t chunk_bytes = std::size_t{4} << 20;  // small blocks are carved from chunks of this size

constexpr std::size_t size_class(std::size_t bytes) {
  if (bytes <= 512) return bytes == 0 ? 0 : (bytes - 1) / 64;
  const auto octave = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;  // 2^octave < bytes <= 2^(octave + 1)
  return 8 + 4 * (octave - 9) + ((bytes - 1) >> (octave - 2)) - 4;
}

constexpr std::size_t class_bytes(std::size_t index) {
  if (index < 8) return (index + 1) * 64;
  const std::size_t octave = 9 + (index - 8) / 4, step = (index - 8) % 4;
  return (5 + step) << (octave - 2);
}

struct FreeBlock {
  FreeBlock* next;
};

struct ThreadPool {
  FreeBlock* free[class_count] = {};
  std::byte* chunk = nullptr;  // what is left of the current chunk
  std::size_t chunk_left = 0;
  bool registered = false;  // its lists are handed over when the thread ends
};

inline constinit thread_local ThreadPool pool;

// Lists of threads that have ended: the next thread that runs dry adopts them.
struct Orphans {
  std::mutex mutex;
  FreeBlock* free[class_count] = {};
};

inline Orphans& orphans() {
  static Orphans& instance = *new Orphans;  // never destroyed: threads may end after main
  return instance;
}

inline void hand_over(ThreadPool& from) {
  Orphans& heirs = orphans();
  const std::lock_guard lock(heirs.mutex);
  for (std::size_t c = 0; c < class_count; ++c) {
    while (FreeBlock* block = from.free[c]) {
      from.free[c] = block->next;
      block->next = heirs.free[c];
      heirs.free[c] = block;
    }
  }
}

struct HandOver {
  ~HandOver() {
    hand_over(pool);
    pool.registered = true;  // late frees of other thread-local objects stay in the dying lists
  }
};

inline void put(std::byte* block, std::size_t index) {
  auto* free_block = reinterpret_cast<FreeBlock*>(block);
  free_block->next = pool.free[index];
  pool.free[index] = free_block;
}

// What is left of a chunk is cut into the largest classes that fit, so that nothing of it is lost.
inline void cut_up_chunk() {
  while (pool.chunk_left >= block_alignment) {
    std::size_t index = size_class(pool.chunk_left);
    if (class_bytes(index) > pool.chunk_left) --index;
    put(pool.chunk, index);
    pool.chunk += class_bytes(index);
    pool.chunk_left -= class_bytes(index);
  }
}

[[gnu::noinline]] inline void* refill(std::size_t index) {
  if (!pool.registered) {
    pool.registered = true;
    thread_local HandOver hand_over_at_exit;
    (void)hand_over_at_exit;
  }
  {
    Orphans& from = orphans();
    const std::lock_guard lock(from.mutex);
    if (FreeBlock* block = from.free[index]) {
      from.free[index] = block->next;
      return block;
    }
  }
  const std::size_t bytes = class_bytes(index);
  if (bytes > chunk_bytes / 4) return map_pages(bytes);
  if (pool.chunk_left < bytes) {
    auto* fresh = static_cast<std::byte*>(map_pages(chunk_bytes));
    cut_up_chunk();
    pool.chunk = fresh;
    pool.chunk_left = chunk_bytes;
  }
  void* block = pool.chunk;
  pool.chunk += bytes;
  pool.chunk_left -= bytes;
  return block;
}

}  // namespace detail

// `bytes` bytes aligned to 64, uninitialised. Throws std::bad_alloc.
inline void* allocate(std::size_t bytes) {
  if (bytes > (std::size_t{1} << 47)) throw std::bad_alloc();
  const std::size_t index = detail::size_class(bytes);
  detail::FreeBlock* block = detail::pool.free[index];
  if (block == nullptr) [[unlikely]]
    return detail::refill(index);
  detail::pool.free[index] = block->next;
  return block;
}

// Takes back a block of allocate(bytes), from any thread.
inline void deallocate(void* block, std::size_t bytes) noexcept { detail::put(static_cast<std::byte*>(block), detail::size_class(bytes)); }

// Gives the large free blocks of the calling thread back to the operating system.
inline void release_cached_memory() noexcept {
  for (std::size_t c = 0; c < detail::class_count; ++c) {
    if (detail::class_bytes(c) <= detail::chunk_bytes / 4) continue;
    while (detail::FreeBlock* block = detail::pool.free[c]) {
      detail::pool.free[c] = block->next;
      unmap_pages(block, detail::class_bytes(c));
    }
  }
}

// The pool as a std::pmr::memory_resource.
class PoolResource final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t) override { return memory::allocate(bytes); }
  void do_deallocate(void* block, std::size_t bytes, std::size_t) override { memory::deallocate(block, bytes); }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

inline std::pmr::memory_resource* pool_resource() {
  static PoolResource& instance = *new PoolResource;
  return &instance;
}

}  // namespace minitorch::memory
