// One rank's arrivals in one word: raised by the rank, forbidden by whoever gives it up, slept on by whoever waits for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include <minitorch/comm/point.hpp>

namespace minitorch::comm {

// The word holds the last epoch at which the rank arrived and two marks. A meeting of flags commits when each of them is raised to its
// epoch, so it fails as soon as one is forbidden, and whoever goes through all flags sees the same of the two.
//   raise   swaps the word: it sees that somebody forbade it, or that somebody sleeps; no wake-up is lost.
//   Acquire and release: who sees a raised flag sees what its rank wrote before.
template <class Policy>
class Flag {
 public:
  bool is_raised(std::uint64_t epoch) const { return word_.load(std::memory_order_acquire) >> mark_bits >= epoch; }

  // This rank arrives at `epoch`. Returns false when the flag was forbidden before.
  bool raise(Policy& policy, std::uint64_t epoch) {
    std::uint64_t was = word_.load(std::memory_order_relaxed);
    do
      if ((was & forbidden) != 0) return false;
    while (!word_.compare_exchange_strong(was, epoch << mark_bits, std::memory_order_acq_rel));
    if ((was & awaited) != 0) policy.wake(word_);
    return true;
  }

  // Nobody raises it any more. Returns false when it has been raised to `epoch` before.
  bool forbid(Policy& policy, std::uint64_t epoch) {
    std::uint64_t was = word_.load(std::memory_order_acquire);
    do
      if (was >> mark_bits == epoch) return false;
    while (!word_.compare_exchange_strong(was, was | forbidden, std::memory_order_acq_rel));
    policy.wake(word_);
    return true;
  }

  // Returns whether the flag was raised to `epoch` or forbidden: after `spins` looks by sleeping in slices, before each of which
  // give_up() may decide to forbid it.
  template <class GiveUp>
  bool wait(Policy& policy, std::uint64_t epoch, std::uint32_t spins, GiveUp&& give_up) {
    for (std::uint32_t i = 0;; ++i) {
      std::uint64_t now = word_.load(std::memory_order_acquire);
      if (now >> mark_bits == epoch) return true;
      if ((now & forbidden) != 0) return false;
      if (i < spins && policy.pause()) continue;
      if (give_up()) return !forbid(policy, epoch);
      policy.point(Point::sleeping);
      if ((now & awaited) != 0 || word_.compare_exchange_strong(now, now | awaited, std::memory_order_relaxed))
        policy.sleep(word_, now | awaited);
      policy.point(Point::woken);
    }
  }

 private:
  static constexpr std::uint64_t awaited = 1, forbidden = 2;
  static constexpr int mark_bits = 2;

  typename Policy::template atomic<std::uint64_t> word_;
};

}  // namespace minitorch::comm
