// The work of one call in parts, which ranks take one after the other until none is left.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace minitorch::comm {

// Whoever has time takes more. A rank that looks late finds another call's number and takes nothing of it.
template <class Policy>
class Shares {
 public:
  // By one rank, when nobody works on an earlier call, before anybody can know of this one.
  void open(std::uint64_t call) {
    done_.store(0, std::memory_order_relaxed);
    next_.store(call << index_bits, std::memory_order_relaxed);
  }

  // The next of `count` parts of the call, or `count` when all are taken.
  std::uint64_t take(std::uint64_t call, std::uint64_t count) {
    std::uint64_t next = next_.load(std::memory_order_relaxed);
    do
      if (next >> index_bits != (call << index_bits) >> index_bits || next % (std::uint64_t{1} << index_bits) >= count) return count;
    while (!next_.compare_exchange_strong(next, next + 1, std::memory_order_relaxed));
    return next % (std::uint64_t{1} << index_bits);
  }

  // A part is done. Whether it was the last of `count`: then everything that any rank did is seen by the caller.
  bool finish(std::uint64_t count) { return done_.fetch_add(1, std::memory_order_acq_rel) + 1 == count; }

 private:
  static constexpr int index_bits = 32;

  template <class T>
  using atomic = typename Policy::template atomic<T>;

  alignas(128) atomic<std::uint64_t> next_;  // the call's number, then the index of the next part
  alignas(128) atomic<std::uint64_t> done_;
};

}  // namespace minitorch::comm
