// How many bytes of tensor data a thread holds, now and at most.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace minitorch {

namespace memory::detail {
struct ByteCounters {
  std::int64_t live = 0;
  std::int64_t peak = 0;
};
inline constinit thread_local ByteCounters byte_counters;

inline void count_bytes(std::int64_t change) {
  byte_counters.live += change;
  if (byte_counters.live > byte_counters.peak) byte_counters.peak = byte_counters.live;
}
}  // namespace memory::detail

// Bytes of tensor data that the calling thread has allocated and not freed.
inline std::int64_t live_bytes() { return memory::detail::byte_counters.live; }

// The most that live_bytes() has been since the thread began or the last reset_peak_bytes().
inline std::int64_t peak_bytes() { return memory::detail::byte_counters.peak; }
inline void reset_peak_bytes() { memory::detail::byte_counters.peak = memory::detail::byte_counters.live; }

}  // namespace minitorch
