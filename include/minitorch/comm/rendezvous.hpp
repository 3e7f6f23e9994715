// How a group meets: each rank announces its call on its line, all are compared, and the meeting commits for all or for nobody.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/call.hpp>
#include <minitorch/comm/flag.hpp>
#include <minitorch/comm/gate.hpp>

namespace minitorch::comm {

// Where index 0 of a rank's input and output lies (or would lie) in shared memory; 0: private.
struct Place {
  std::uint64_t in, out;
};

inline constexpr std::int64_t inline_bytes = 80;

// What a rank tells the others when it arrives. Written by one rank only. The first 16 bytes of a payload lie in the same cache line as
// the flag that the others wait for.
template <class Policy>
struct alignas(128) Line {
  Flag<Policy> flag;
  Fingerprint print;
  union {
    Place place;                      // of a large call
    std::byte payload[inline_bytes];  // of a small one
  };
};

// How the ranks of a meeting find out that all are there.
enum class Meeting : std::uint8_t {
  flags,    // each looks at the flag of each: two transfers of a cache line from the last arrival to the first departure
  counted,  // each adds one at the gate: the last one is known and may work for all, and everybody sleeps once at most
};

// One rank's side of a meeting. Lines alternate between two sets: who arrives at epoch e + 2 has seen e + 1 commit, for which
// everybody had left e, so nobody reads the lines of e any more. The same holds for anything else kept twice.
template <class Policy>
class Rendezvous {
 public:
  Rendezvous(Gate<Policy>* gate, Line<Policy>* lines, int rank, int ranks, Meeting kind)
      : gate_(gate),
        lines_(lines),
        rank_(rank),
        ranks_(ranks),
        kind_(kind),
        control_(gate->control() & ~(aborted | offered)),
        epoch_(epoch_of(control_)) {}

  int parity() const { return static_cast<int>(epoch_ & 1); }
  // The line to fill before meet(); afterwards the lines of the peers.
  Line<Policy>& next() { return line(rank_, epoch_ + 1); }
  Line<Policy>& peer(int rank) { return line(rank, epoch_); }

  // Whether `rank` has arrived at the epoch that this rank is in.
  bool here(int rank) { return peer(rank).flag.is_raised(epoch_); }

  // Nothing commits any more. Does nothing when the last to arrive was faster.
  void abort(Policy& policy) {
    if (kind_ == Meeting::flags)
      next().flag.forbid(policy, epoch_ + 1);
    else
      gate_->abort(policy, gate_->control());
  }

  struct Outcome {
    bool committed;
    std::uint64_t flags;
  };

  // Arrives and returns when the epoch is committed or aborted. When all fingerprints are equal, judge() is run by the last to arrive
  // while others wait, or by each for itself when nobody is known to be last: then it must find the same on all. It returns further
  // flags. give_up() is asked now and then while waiting.
  template <class Judge, class GiveUp>
  Outcome meet(Policy& policy, std::uint32_t spins, Judge&& judge, GiveUp&& give_up) {
    if (kind_ == Meeting::counted) {
      begin(policy, judge);
      return end(
          policy, spins, [] { return false; }, give_up);
    }
    bool all = announce(policy);
    for (int r = 0; r < ranks_ && all; ++r) all = r == rank_ || peer(r).flag.wait(policy, epoch_, spins, give_up);
    if (!all) return {false, 0};
    const std::uint64_t flags = agree() ? judge() : mismatched;
    policy.point(Point::committed);
    return {true, flags};
  }

  // The two halves of a counted meeting. When judge() returns `offered`, work() is called by those who look, until one call says that
  // what it did was the last of the work: then the meeting commits, `completed`.
  template <class Judge>
  void begin(Policy& policy, Judge&& judge) {
    announce(policy);
    now_ = control_;
    const bool is_last = gate_->arrive(epoch_, static_cast<std::uint32_t>(ranks_));
    policy.point(Point::arrived);
    if (!is_last) return;
    const std::uint64_t flags = agree() ? judge() : mismatched;
    policy.point(Point::checked);
    now_ = flags == offered ? gate_->offer(policy, control_) : gate_->commit(policy, control_, flags);
  }
  template <class Work, class GiveUp>
  Outcome end(Policy& policy, std::uint32_t spins, Work&& work, GiveUp&& give_up) {
    if (now_ == control_) now_ = gate_->wait(policy, control_, spins, give_up);
    if (!help(policy, work)) now_ = gate_->wait(policy, now_, spins, give_up);
    if (epoch_of(now_) < epoch_) return {false, 0};
    control_ = now_ & ~aborted;
    policy.point(Point::committed);
    return {true, now_ & (mismatched | completed)};
  }
  // Between the two, does what is offered and returns without waiting for what others do.
  template <class Work>
  void look(Policy& policy, Work&& work) {
    if (now_ == control_) now_ = gate_->control();
    help(policy, work);
  }
  // Whether end() would return at once.
  bool over() const { return (now_ & ~offered) != control_ || (gate_->control() & ~offered) != control_; }

 private:
  // Returns false when what is left is in the hands of others.
  template <class Work>
  bool help(Policy& policy, Work&& work) {
    if (now_ != (control_ | offered)) return true;
    if (!work()) return false;
    policy.point(Point::checked);
    now_ = gate_->commit(policy, now_, completed);
    return true;
  }

  Line<Policy>& line(int rank, std::uint64_t epoch) {
    return lines_[(epoch & 1) * static_cast<std::uint64_t>(ranks_) + static_cast<std::uint64_t>(rank)];
  }

  // Returns false when somebody forbade it.
  bool announce(Policy& policy) {
    ++epoch_;
    const bool raised = peer(rank_).flag.raise(policy, epoch_);
    policy.point(Point::announced);
    return raised;
  }

  bool agree() {
    for (int r = 1; r < ranks_; ++r)
      if (peer(r).print != peer(0).print) return false;
    return true;
  }

  Gate<Policy>* gate_;
  Line<Policy>* lines_;
  int rank_, ranks_;
  Meeting kind_;
  std::uint64_t control_, epoch_;  // the word as of the last counted epoch that ended; the epoch begun
  std::uint64_t now_ = 0;          // the word as this rank last saw it
};

}  // namespace minitorch::comm
