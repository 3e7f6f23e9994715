// Fresh pages from the operating system, in huge pages where there are any. The only system header of this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace minitorch::memory {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

// `bytes` zeroed bytes, aligned to a huge page when there is room for one. Throws std::bad_alloc.
inline void* map_pages(std::size_t bytes) {
  const std::size_t slack = bytes >= huge_page ? huge_page : 0;
  void* raw = ::mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  if (slack == 0) return raw;
  const auto start = reinterpret_cast<std::uintptr_t>(raw);
  const std::uintptr_t aligned = (start + huge_page - 1) & ~(huge_page - 1);
  if (aligned > start) ::munmap(raw, aligned - start);
  const std::uintptr_t end = start + bytes + slack;
  if (end > aligned + bytes) ::munmap(reinterpret_cast<void*>(aligned + bytes), end - aligned - bytes);
  auto* pages = reinterpret_cast<void*>(aligned);
#ifdef MADV_HUGEPAGE
  ::madvise(pages, bytes, MADV_HUGEPAGE);
#endif
  return pages;
}

// Calls before() in front of each fork, and after() behind it in parent and child.
inline void around_fork(void (*before)(), void (*after)()) { ::pthread_atfork(before, after, after); }

inline void unmap_pages(void* pages, std::size_t bytes) { ::munmap(pages, bytes); }

}  // namespace minitorch::memory
