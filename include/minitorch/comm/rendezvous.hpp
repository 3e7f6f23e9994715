// How a group meets: each rank announces its call on its line, the last one compares them all and commits.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/call.hpp>
#include <minitorch/comm/gate.hpp>

namespace minitorch::comm {

inline constexpr std::int64_t inline_bytes = 64;

// What a rank tells the others when it arrives. Written by one rank only; a payload of up to 64 bytes travels in it.
template <class Policy>
struct alignas(128) Line {
  typename Policy::template atomic<std::uint64_t> epoch;
  Fingerprint print;
  std::uint64_t in = 0, out = 0;  // where index 0 of the input and the output lies (or would lie) in shared memory; 0: private
  alignas(64) std::byte payload[inline_bytes];
};

// One rank's side of the gate. Lines alternate between two sets: who arrives at epoch e + 2 has seen e + 1 commit, for which
// everybody had left e, so nobody reads the lines of e any more. The same holds for anything else kept twice.
template <class Policy>
class Rendezvous {
 public:
  Rendezvous() = default;
  Rendezvous(Gate<Policy>* gate, Line<Policy>* lines, int rank, int ranks)
      : gate_(gate), lines_(lines), rank_(rank), ranks_(ranks), control_(gate->control() & ~aborted), epoch_(epoch_of(control_)) {}

  int parity() const { return static_cast<int>(epoch_ & 1); }
  // The line to fill before meet(); afterwards the lines of the peers.
  Line<Policy>& next() { return line(rank_, epoch_ + 1); }
  Line<Policy>& peer(int rank) { return line(rank, epoch_); }

  // Whether `rank` has arrived at the epoch that this rank is in.
  bool here(int rank) { return line(rank, epoch_).epoch.load(std::memory_order_acquire) >= epoch_; }

  bool is_aborted() const { return (gate_->control() & aborted) != 0; }
  void abort(Policy& policy) { gate_->abort(policy, gate_->control()); }

  struct Outcome {
    bool committed;
    std::uint64_t flags;
  };

  // Arrives. The last to arrive runs last(), which returns further flags, when all fingerprints are equal, and commits.
  template <class Last>
  void begin(Policy& policy, Last&& last) {
    ++epoch_;
    line(rank_, epoch_).epoch.store(epoch_, std::memory_order_release);
    policy.point(Point::announced);
    was_last_ = gate_->arrive(epoch_, static_cast<std::uint32_t>(ranks_));
    policy.point(Point::arrived);
    if (!was_last_) return;
    const std::uint64_t flags = agree() ? last() : mismatched;
    policy.point(Point::checked);
    now_ = gate_->commit(policy, control_, flags);
  }

  // Returns when the epoch that began is committed or aborted. give_up() is asked now and then while waiting.
  template <class GiveUp>
  Outcome end(Policy& policy, std::uint32_t spins, GiveUp&& give_up) {
    if (!was_last_) now_ = gate_->wait(policy, control_, spins, give_up);
    if (epoch_of(now_) < epoch_) return {false, 0};
    control_ = now_ & ~aborted;
    policy.point(Point::committed);
    return {true, now_ & (mismatched | completed)};
  }

  // Whether end() would return at once.
  bool over() const { return was_last_ || gate_->control() != control_; }

 private:
  Line<Policy>& line(int rank, std::uint64_t epoch) {
    return lines_[(epoch & 1) * static_cast<std::uint64_t>(ranks_) + static_cast<std::uint64_t>(rank)];
  }

  bool agree() {
    for (int r = 1; r < ranks_; ++r)
      if (peer(r).print != peer(0).print) return false;
    return true;
  }

  Gate<Policy>* gate_ = nullptr;
  Line<Policy>* lines_ = nullptr;
  int rank_ = 0, ranks_ = 1;
  std::uint64_t control_ = 0, epoch_ = 0;  // the word as of the last epoch that ended; the epoch begun
  std::uint64_t now_ = 0;
  bool was_last_ = false;
};

}  // namespace minitorch::comm
