// The synchronisation primitive of a group: everybody arrives, the last one commits, waiters sleep in a bounded way.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <minitorch/comm/point.hpp>

namespace minitorch::comm {

// Flags beside the epoch in the control word.
inline constexpr std::uint64_t mismatched = 1;  // the committed operation did nothing: ranks called different ones
inline constexpr std::uint64_t completed = 2;   // everybody's work is done
inline constexpr std::uint64_t aborted = 4;     // nothing commits any more
inline constexpr std::uint64_t offered = 8;     // all have arrived, and whoever looks takes parts of the work; commits when it is done
inline constexpr int epoch_shift = 4;

constexpr std::uint64_t epoch_of(std::uint64_t control) { return control >> epoch_shift; }

// One word decides: it holds the number of the last committed epoch, and the same compare-and-swap that commits the next one can
// fail only because somebody aborted first. Policy gives the atomics, sleeping and waking; a test gives its own.
//   arrive  counts with acquire and release: the last to arrive sees what everybody wrote before.
//   commit  is a full fence before `sleepers_` is read, as a sleeper counts itself before it reads the word again: no wake-up is lost.
template <class Policy>
class Gate {
 public:
  // Before anybody else can see it. `epoch` is the one taken as already committed.
  void open(std::uint64_t epoch, std::uint32_t ranks) {
    control_.store(epoch << epoch_shift, std::memory_order_relaxed);
    arrived_.store(epoch * ranks, std::memory_order_relaxed);
    sleepers_.store(0, std::memory_order_relaxed);
  }

  std::uint64_t control() const { return control_.load(std::memory_order_seq_cst); }
  const void* word() const { return &control_; }

  // Returns whether this rank is the last of `ranks` to arrive at `epoch`.
  bool arrive(std::uint64_t epoch, std::uint32_t ranks) { return arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == epoch * ranks; }

  // Commits the epoch after the one in `from` and wakes everybody, unless the gate was aborted. Returns the control word after.
  std::uint64_t commit(Policy& policy, std::uint64_t from, std::uint64_t flags) {
    const std::uint64_t to = (epoch_of(from) + 1) << epoch_shift | flags;
    if (!control_.compare_exchange_strong(from, to, std::memory_order_seq_cst)) return from;
    if (sleepers_.load(std::memory_order_seq_cst) != 0) policy.wake(control_);
    return to;
  }

  // Offers the work of the epoch after the one in `from` to everybody, unless the gate was aborted. Returns the control word after.
  std::uint64_t offer(Policy& policy, std::uint64_t from) {
    const std::uint64_t to = from | offered;
    if (!control_.compare_exchange_strong(from, to, std::memory_order_seq_cst)) return from;
    if (sleepers_.load(std::memory_order_seq_cst) != 0) policy.wake(control_);
    return to;
  }

  // Forbids every commit after the one in `from`. Does nothing when that commit was faster. Returns the control word after.
  std::uint64_t abort(Policy& policy, std::uint64_t from) {
    const std::uint64_t to = from | aborted;
    if (!control_.compare_exchange_strong(from, to, std::memory_order_seq_cst)) return from;
    policy.wake(control_);
    return to;
  }

  // Returns the control word as soon as it is not `from`: after `spins` looks by sleeping in slices, before each of which
  // give_up() may decide to abort.
  template <class GiveUp>
  std::uint64_t wait(Policy& policy, std::uint64_t from, std::uint32_t spins, GiveUp&& give_up) {
    for (std::uint32_t i = 0; i < spins; ++i) {
      const std::uint64_t now = control_.load(std::memory_order_acquire);
      if (now != from) return now;
      if (!policy.pause()) break;
    }
    for (;;) {
      if (give_up()) return abort(policy, from);
      policy.point(Point::sleeping);
      sleepers_.fetch_add(1, std::memory_order_seq_cst);
      if (control_.load(std::memory_order_seq_cst) == from) policy.sleep(control_, from);
      sleepers_.fetch_sub(1, std::memory_order_relaxed);
      policy.point(Point::woken);
      const std::uint64_t now = control_.load(std::memory_order_acquire);
      if (now != from) return now;
    }
  }

 private:
  template <class T>
  using atomic = typename Policy::template atomic<T>;

  alignas(128) atomic<std::uint64_t> control_;
  atomic<std::uint32_t> sleepers_;
  alignas(128) atomic<std::uint64_t> arrived_;
};

}  // namespace minitorch::comm
