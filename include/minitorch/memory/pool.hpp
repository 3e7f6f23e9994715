// The pool: free lists by size class, one set per thread. Blocks are aligned to 64 bytes.
// SPDX-License-Identifier: MIT
//
// Memory is kept, because the first touch of a page costs more than most operations on it. A block freed by another thread joins
// that thread's lists; what is too much for a thread, or left behind by one, is shared.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <utility>

#include <minitorch/memory/system_pages.hpp>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace minitorch::memory {

inline constexpr std::size_t block_alignment = 64;

namespace detail {

// Classes 0..7 are multiples of 64 bytes up to 512; above, every power of two has four steps, so at most a fifth is unused.
inline constexpr std::size_t class_count = 8 + 4 * 40;
inline constexpr std::size_t chunk_bytes = std::size_t{16} << 20;  // small blocks are carved from chunks of this size, in huge pages

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

// A free block. Blocks of one class form a list; whole lists change hands as batches, linked through their first blocks.
struct FreeBlock {
  FreeBlock* next;
  FreeBlock* next_batch;    // of a first block
  std::size_t batch_count;  // of a first block: how many the batch has
};

// What is left of a chunk that a thread had begun. Lies in its first bytes.
struct ChunkRest {
  ChunkRest* next;
  std::size_t bytes;
};

struct FreeList {
  FreeBlock* first = nullptr;
  std::size_t count = 0;
};

struct ThreadPool {
  FreeList free[class_count];
  std::byte* chunk = nullptr;  // what is left of the current chunk
  std::size_t chunk_left = 0;
  bool registered = false;  // its lists are handed over when the thread ends
};

inline constinit thread_local ThreadPool pool;

// What threads have too much of or have left behind: the next thread that runs dry takes it.
struct SharedPool {
  std::mutex mutex;
  FreeBlock* batches[class_count] = {};
  ChunkRest* rests = nullptr;
};

SharedPool& shared_pool();
inline void lock_shared_pool() { shared_pool().mutex.lock(); }
inline void unlock_shared_pool() { shared_pool().mutex.unlock(); }

inline SharedPool& shared_pool() {
  static SharedPool& instance = [&]() -> SharedPool& {
    around_fork(lock_shared_pool, unlock_shared_pool);  // a child must not inherit it locked by a thread that it has not
    return *new SharedPool;                             // never destroyed: threads may end after main
  }();
  return instance;
}

// A free block's memory is out of bounds under AddressSanitizer, but for the links.
#if defined(__SANITIZE_ADDRESS__)
inline void poison(void* block, std::size_t bytes) { __asan_poison_memory_region(block, bytes); }
inline void unpoison(void* block, std::size_t bytes) { __asan_unpoison_memory_region(block, bytes); }
#else
constexpr void poison(void*, std::size_t) {}
constexpr void unpoison(void*, std::size_t) {}
#endif

// So many blocks of a class wait in a thread at most: 16 MiB of them, but four in any case. A thread that only frees what others
// allocate would otherwise keep it all.
inline constexpr std::array<std::uint32_t, class_count> most_waiting = [] {
  std::array<std::uint32_t, class_count> most{};
  for (std::size_t c = 0; c < class_count; ++c)
    most[c] = static_cast<std::uint32_t>((std::max)((std::size_t{16} << 20) / class_bytes(c), std::size_t{4}));
  return most;
}();

// Gives a whole list to the shared pool.
[[gnu::noinline]] inline void share(std::size_t index) {
  FreeList& list = pool.free[index];
  if (list.first == nullptr) return;
  SharedPool& shared = shared_pool();
  const std::lock_guard lock(shared.mutex);
  list.first->batch_count = list.count;
  list.first->next_batch = std::exchange(shared.batches[index], list.first);
  list = {};
}

inline void put(void* block, std::size_t index) {
  FreeList& list = pool.free[index];
  auto* free_block = static_cast<FreeBlock*>(block);
  free_block->next = std::exchange(list.first, free_block);
  poison(static_cast<std::byte*>(block) + sizeof(FreeBlock), class_bytes(index) - sizeof(FreeBlock));
  if (++list.count > most_waiting[index]) [[unlikely]]
    share(index);
}

struct HandOver {
  ~HandOver() {
    for (std::size_t c = 0; c < class_count; ++c) share(c);
    if (pool.chunk_left >= block_alignment) {
      SharedPool& shared = shared_pool();
      const std::lock_guard lock(shared.mutex);
      shared.rests = new (pool.chunk) ChunkRest{shared.rests, pool.chunk_left};
    }
    pool.chunk_left = 0;
    pool.registered = true;  // late frees of other thread-local objects stay in the dying lists
  }
};

// What is left of a chunk is cut into the largest classes that fit, so that nothing of it is lost.
inline void cut_up_chunk() {
  while (pool.chunk_left >= block_alignment) {
    std::size_t index = size_class(pool.chunk_left);
    if (class_bytes(index) > pool.chunk_left) --index;
    std::byte* block = pool.chunk;
    pool.chunk += class_bytes(index);
    pool.chunk_left -= class_bytes(index);
    put(block, index);
  }
}

// Replaces the current chunk by one that another thread had begun, or by a fresh one.
inline void next_chunk(std::size_t bytes) {
  {
    SharedPool& shared = shared_pool();
    const std::lock_guard lock(shared.mutex);
    for (ChunkRest** link = &shared.rests; ChunkRest* rest = *link; link = &rest->next) {
      if (rest->bytes < bytes) continue;
      *link = rest->next;
      const std::size_t left = rest->bytes;
      cut_up_chunk();
      pool.chunk = reinterpret_cast<std::byte*>(rest);
      pool.chunk_left = left;
      return;
    }
  }
  auto* fresh = static_cast<std::byte*>(map_pages(chunk_bytes));
  cut_up_chunk();
  pool.chunk = fresh;
  pool.chunk_left = chunk_bytes;
}

// A block when the thread's list is empty: of a shared batch, of the chunk, or fresh.
[[gnu::noinline]] inline void* refill(std::size_t index) {
  if (!pool.registered) {
    pool.registered = true;
    thread_local HandOver hand_over_at_exit;
    (void)hand_over_at_exit;
  }
  {
    SharedPool& shared = shared_pool();
    const std::lock_guard lock(shared.mutex);
    if (FreeBlock* block = shared.batches[index]) {
      shared.batches[index] = block->next_batch;
      pool.free[index] = {block->next, block->batch_count - 1};
      return block;
    }
  }
  const std::size_t bytes = class_bytes(index);
  if (bytes > chunk_bytes / 4) return map_pages(bytes);
  if (pool.chunk_left < bytes) next_chunk(bytes);
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
  detail::FreeList& list = detail::pool.free[index];
  void* block = list.first;
  if (block == nullptr) [[unlikely]] {
    block = detail::refill(index);
  } else {
    list.first = list.first->next;
    --list.count;
  }
  detail::unpoison(block, detail::class_bytes(index));
  return block;
}

// Takes back a block of allocate(bytes), from any thread.
inline void deallocate(void* block, std::size_t bytes) noexcept { detail::put(block, detail::size_class(bytes)); }

// Gives the large free blocks of the calling thread, and those that threads share, back to the operating system.
inline void release_cached_memory() noexcept {
  detail::SharedPool& shared = detail::shared_pool();
  for (std::size_t c = 0; c < detail::class_count; ++c) {
    if (detail::class_bytes(c) <= detail::chunk_bytes / 4) continue;
    detail::share(c);
    const std::lock_guard lock(shared.mutex);
    while (detail::FreeBlock* batch = shared.batches[c]) {
      shared.batches[c] = batch->next_batch;
      for (detail::FreeBlock* block = batch; block != nullptr;) {
        detail::FreeBlock* next = block->next;
        detail::unpoison(block, detail::class_bytes(c));
        unmap_pages(std::exchange(block, next), detail::class_bytes(c));
      }
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
