// The pool's size classes, reuse, hand-over between threads, and the byte counters.
// SPDX-License-Identifier: MIT
#include <minitorch/memory/buffer.hpp>
#include <minitorch/memory/workspace.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>

#include <tests/catch.hpp>

namespace mt = minitorch;
namespace pool = minitorch::memory;

TEST_CASE("a size class is the smallest that holds the bytes, and a multiple of 64") {
  using pool::detail::class_bytes;
  using pool::detail::size_class;
  for (std::size_t bytes = 1; bytes < (std::size_t{1} << 36); bytes += 1 + bytes / 977) {
    const std::size_t index = size_class(bytes);
    REQUIRE(class_bytes(index) >= bytes);
    REQUIRE((index == 0 || class_bytes(index - 1) < bytes));
    REQUIRE(class_bytes(index) % 64 == 0);
  }
}

TEST_CASE("blocks are aligned, disjoint and used again") {
  for (std::size_t bytes : {1u, 64u, 100u, 4096u, 100000u, 5000000u}) {
    void* a = pool::allocate(bytes);
    void* b = pool::allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(a) % 64 == 0);
    CHECK(a != b);
    std::memset(a, 1, bytes);
    std::memset(b, 2, bytes);
    CHECK(*static_cast<unsigned char*>(a) == 1);
    pool::deallocate(a, bytes);
    CHECK(pool::allocate(bytes) == a);
    pool::deallocate(a, bytes);
    pool::deallocate(b, bytes);
  }
}

TEST_CASE("the lists of a thread that ended serve the next one") {
  constexpr std::size_t bytes = 3000000;
  void* first = nullptr;
  void* second = nullptr;
  std::thread([&] { pool::deallocate(first = pool::allocate(bytes), bytes); }).join();
  std::thread([&] { pool::deallocate(second = pool::allocate(bytes), bytes); }).join();
  CHECK(first == second);
}

TEST_CASE("threads that come and go use the same memory") {
  // Each leaves the rest of a chunk behind, which the next one takes over: the blocks of all lie within few chunks.
  std::uintptr_t lowest = UINTPTR_MAX, highest = 0;
  for (int i = 0; i < 100; ++i)
    std::thread([&] {
      void* blocks[20];
      for (void*& block : blocks) {
        block = pool::allocate(700);
        lowest = std::min(lowest, reinterpret_cast<std::uintptr_t>(block));
        highest = std::max(highest, reinterpret_cast<std::uintptr_t>(block));
      }
      for (void* block : blocks) pool::deallocate(block, 700);
    }).join();
  CHECK(highest - lowest < 4 * pool::detail::chunk_bytes);
}

TEST_CASE("what one thread allocates and another frees comes round again") {
  // A producer of blocks of 1 MiB and a consumer, in turns: without sharing there would be 400 distinct blocks.
  constexpr std::size_t bytes = std::size_t{1} << 20;
  std::set<void*> seen;
  void* block = nullptr;
  std::atomic<int> turn{0};
  std::thread consumer([&] {
    for (int i = 0; i < 400; ++i) {
      while (turn.load() != 2 * i + 1) std::this_thread::yield();
      pool::deallocate(block, bytes);
      ++turn;
    }
  });
  for (int i = 0; i < 400; ++i) {
    block = pool::allocate(bytes);
    seen.insert(block);
    ++turn;
    while (turn.load() != 2 * i + 2) std::this_thread::yield();
  }
  consumer.join();
  CHECK(seen.size() <= 2 * pool::detail::most_waiting[pool::detail::size_class(bytes)] + 2);
}

TEST_CASE("an impossible size is an exception") { CHECK_THROWS_AS(pool::allocate(std::size_t{1} << 50), std::bad_alloc); }

TEST_CASE("live and peak bytes count tensor data") {
  const std::int64_t before = mt::live_bytes();
  mt::reset_peak_bytes();
  {
    const auto a = mt::BufferRef::allocate(1000);
    const auto b = a;  // shares
    CHECK(mt::live_bytes() == before + 1000);
    { const auto c = mt::BufferRef::allocate(500); }
  }
  CHECK(mt::live_bytes() == before);
  CHECK(mt::peak_bytes() == before + 1500);
}

TEST_CASE("outside memory is released once, by the last owner") {
  int released = 0;
  double data[4] = {};
  {
    auto a = mt::BufferRef::wrap(data, sizeof data, [&] { ++released; });
    auto b = a;
    a.reset();
    CHECK(released == 0);
  }
  CHECK(released == 1);
}

TEST_CASE("a memory scope sends new buffers to its resource") {
  std::byte arena[4096];
  std::pmr::monotonic_buffer_resource resource(arena, sizeof arena, std::pmr::null_memory_resource());
  const mt::MemoryScope scope(&resource);
  const auto inside = mt::BufferRef::allocate(256);
  CHECK(inside->data() >= arena);
  CHECK(inside->data() < arena + sizeof arena);
}
