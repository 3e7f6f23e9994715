// Large calls on somebody's private memory: chunk by chunk through staging buffers. Steps: chunks, and one more for sums that all receive.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/slices.hpp>

namespace minitorch::comm {

// One rank's side. Before the meeting of a chunk each rank shows what others need of its input; after it each does its part: a sum is made
// share by share and shown in turn, before the meeting of the next chunk, after which its receivers fetch it. What is written before a
// meeting lies in the staging of its epoch, twice as everything else: nobody overwrites what a peer may still read.
template <class Policy>
class Chunks {
 public:
  Chunks(Channel<Policy>& channel, const Call& call)
      : channel_(channel),
        call_(call),
        rank_(channel.rank()),
        ranks_(channel.size()),
        size_(wire_size(call.type)),
        step_(channel.chunk() / size_),
        sums_shares_(reduces(call.verb) && to(call.verb) != To::owner && ranks_ > 2),
        gives_(call.gives(rank_, ranks_)),
        takes_(call.takes(rank_, ranks_)) {}

  Range chunk(std::int64_t c) const { return intersect({0, call_.count}, {c * step_, (c + 1) * step_}); }

  // Copies what others read of chunk c of a private input, or all of it.
  void show(std::int64_t c, bool all) {
    const Range range = chunk(c), part = intersect(range, gives_), own = all ? Range{part.first, part.first} : unread(range);
    const std::uintptr_t to = detail::origin(channel_.next_staging(), range.first, size_), from = own_in();
    copy(to, from, intersect(part, {part.first, own.first}));
    copy(to, from, intersect(part, {own.last, part.last}));
  }

  // After the meeting of chunk 0, on views of what lies in shared memory; others are 0.
  void run() {
    const std::int64_t chunks = (call_.count + step_ - 1) / step_;
    const auto views = channel_.views();
    staged_.resize(views.size());
    bool in_place = false;
    for (int r = 0; r < ranks_; ++r) {
      staged_[index(r)] = views[index(r)].in == 0;
      in_place |= !staged_[index(r)] && !call_.gives(r, ranks_).empty();
    }
    const bool shows = staged_[index(rank_)] && !gives_.empty();
    if (in_place && reduces(call_.verb) && to(call_.verb) != To::owner) sums_shares_ = true;  // a result may overwrite what peers read
    views[index(rank_)] = {own_in(), own_out()};
    for (std::int64_t c = 0; c < chunks; ++c) {
      if (c > 0) {
        if (shows) show(c, false);
        channel_.meet();
      }
      aim(c);
      const auto work = [&] { sums_shares_ ? sum(c) : transfer(call_, views, intersect(chunk(c), takes_), {rank_, rank_ + 1}); };
      in_place ? channel_.touching(work) : work();
      if (sums_shares_ && c > 0) fetch(c - 1);
    }
    if (sums_shares_ || in_place) channel_.meet();
    if (sums_shares_) fetch(chunks - 1);
  }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  std::uintptr_t own_in() const { return detail::origin(reinterpret_cast<std::uintptr_t>(call_.in), gives_.first, size_); }
  std::uintptr_t own_out() const { return detail::origin(reinterpret_cast<std::uintptr_t>(call_.out), takes_.first, size_); }
  Range share(std::int64_t c, int rank) const { return detail::share(chunk(c), rank, ranks_, size_); }

  // The part of a chunk of this rank's input that only it reads.
  Range unread(Range range) const {
    if (to(call_.verb) == To::owner) return intersect(range, call_.piece(rank_, ranks_));
    if (sums_shares_) return detail::share(range, rank_, ranks_, size_);
    return {range.first, range.first};
  }

  void copy(std::uintptr_t to, std::uintptr_t from, Range part) const {
    const auto first = static_cast<std::uintptr_t>(part.first * size_);
    detail::copy(to + first, from + first, part.size() * size_);
  }

  // Points the views of private inputs at the chunk in the staging of their ranks.
  void aim(std::int64_t c) {
    for (int r = 0; r < ranks_; ++r)
      if (staged_[index(r)] && r != rank_) channel_.views()[index(r)].in = detail::origin(channel_.staging(r), chunk(c).first, size_);
  }

  // Sums this rank's share of chunk c and shows it.
  void sum(std::int64_t c) {
    const Range part = share(c, rank_);
    const std::uintptr_t shown = detail::origin(channel_.next_sums(), part.first, size_);
    const std::uintptr_t to = takes_.empty() ? shown : own_out();
    reduce(call_, channel_.views(), part, std::span(&to, 1));
    if (comm::to(call_.verb) == To::all) copy(shown, to, part);
  }

  // Copies what others have summed of chunk c.
  void fetch(std::int64_t c) {
    if (takes_.empty()) return;
    for (int r = 0; r < ranks_; ++r) {
      if (r == rank_) continue;
      const Range part = share(c, r);
      copy(own_out(), detail::origin(channel_.sums(r), part.first, size_), part);
    }
  }

  Channel<Policy>& channel_;
  const Call& call_;
  int rank_, ranks_;
  std::int64_t size_, step_;  // bytes an element, elements a chunk
  bool sums_shares_;          // each sums its share for all; two ranks are faster when each sums all for itself, out of copies
  Range gives_, takes_;
  std::vector<bool> staged_;  // by rank: its input comes through staging
};

}  // namespace minitorch::comm
