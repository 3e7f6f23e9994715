// Large calls: after a meeting each rank does its share of the work on everybody's memory, and all meet again. Steps: chunks + 1.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/last_arriver.hpp>

namespace minitorch::comm {

namespace detail {

// Share `k` of `n` of a range, cut at cache lines.
inline Range share(Range range, int k, int n, std::int64_t size) {
  const std::int64_t line = 128 / size, lines = (range.size() + line - 1) / line;
  const auto at = [&](int i) { return (std::min)(range.first + lines * i / n * line, range.last); };
  return {at(k), at(k + 1)};
}

// Whether ranks write the outputs of others: equal shares of a reduction for all, and whatever only the root receives.
inline bool pushes(const Call& call) { return to(call.verb) == To::root || call.verb == Verb::all_reduce; }

// What one rank does for a range. What is not pushed is pulled by its receiver.
inline void work(const Call& call, std::span<const View> views, Range range, int rank) {
  const int ranks = static_cast<int>(views.size());
  if (pushes(call)) return transfer(call, views, share(range, rank, ranks, wire_size(call.type)), {0, ranks});
  transfer(call, views, intersect(range, call.takes(rank, ranks)), {rank, rank + 1});
}

// Whether the output of a rank overlaps memory of another one: then no order of the work is right.
inline bool overlapping(const Call& call, std::span<const View> views) {
  const int ranks = static_cast<int>(views.size());
  const auto bytes = [&](std::uintptr_t origin, Range r) {
    const auto size = static_cast<std::uintptr_t>(wire_size(call.type));
    const auto first = origin + static_cast<std::uintptr_t>(r.first) * size, last = origin + static_cast<std::uintptr_t>(r.last) * size;
    return origin == 0 || r.empty() ? std::pair{std::uintptr_t{0}, std::uintptr_t{0}} : std::pair{first, last};
  };
  const auto meet = [](auto a, auto b) { return a.first < b.second && b.first < a.second; };
  for (int i = 0; i < ranks; ++i) {
    const auto out = bytes(views[static_cast<std::size_t>(i)].out, call.takes(i, ranks));
    for (int j = 0; j < ranks; ++j) {
      const View& other = views[static_cast<std::size_t>(j)];
      if (i != j && (meet(out, bytes(other.in, call.gives(j, ranks))) || meet(out, bytes(other.out, call.takes(j, ranks))))) return true;
    }
  }
  return false;
}

// The address of index 0 when index `index` lies at `address`.
inline std::uintptr_t origin(std::uintptr_t address, std::int64_t index, std::int64_t size) {
  return address - static_cast<std::uintptr_t>(index * size);
}

}  // namespace detail

// One rank's side of a large call.
template <class Policy>
class Slices {
 public:
  Slices(Channel<Policy>& channel, const Call& call)
      : channel_(channel),
        call_(call),
        size_(wire_size(call.type)),
        gives_(call.gives(channel.rank(), channel.size())),
        takes_(call.takes(channel.rank(), channel.size())),
        step_(channel.chunk() / size_),
        told_(static_cast<std::size_t>(channel.size())) {}

  // Inputs, and outputs that others write, are used where they lie when they lie in shared memory: one chunk, no copies on the way.
  // As soon as one is private, all go chunk by chunk through two staging buffers a rank. A buffer stands for the indices of its chunk,
  // in place. Each rank copies chunk c + 1 in before it waits for the end of chunk c, so one meeting a chunk is enough.
  void run() {
    const std::uintptr_t in = gives_.empty() ? 0 : channel_.shared_origin(call_.in, gives_, call_.type);
    const std::uintptr_t out = takes_.empty() ? 0 : channel_.shared_origin(call_.out, takes_, call_.type);
    stages_in_ = !gives_.empty() && in == 0;
    stages_out_ = !takes_.empty() && out == 0 && detail::pushes(call_);
    turn_ = channel_.next_turn();
    if (stages_in_ || stages_out_) channel_.own_staging(turn_);
    copy_in(0);
    auto& line = channel_.next();
    line.in = stages_in_ ? staged + static_cast<std::uint64_t>(turn_) : channel_.to_offset(in);
    line.out = stages_out_ ? staged + static_cast<std::uint64_t>(turn_) : channel_.to_offset(out);
    const std::uint64_t flags = channel_.meet([&] { return last(); });
    if ((flags & completed) != 0) return;
    look();
    const std::int64_t chunks = any_staged_ ? (call_.count + step_ - 1) / step_ : 1;
    for (std::int64_t c = 0; c < chunks; ++c) {
      const Range range = any_staged_ ? chunk(c) : Range{0, call_.count};
      aim(c, range.first);
      channel_.touching([&] { detail::work(call_, channel_.views(), range, channel_.rank()); });
      if (c + 1 < chunks) copy_in(c + 1);
      channel_.meet();
      copy_out(c);
    }
  }

 private:
  static constexpr std::uint64_t staged = 1;  // on a line instead of an offset: "in my staging", + which buffer is the first

  struct Told {
    std::uint64_t in, out;
  };

  static bool is_staged(std::uint64_t told) { return told == staged || told == staged + 1; }

  Range chunk(std::int64_t c) const { return intersect({0, call_.count}, {c * step_, (c + 1) * step_}); }
  std::uintptr_t own(const void* buffer, Range whole, Range part) const {
    return reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>((part.first - whole.first) * size_);
  }
  std::uintptr_t own_stage(std::int64_t c, Range part) {
    return channel_.staging(channel_.rank(), turn_ ^ static_cast<int>(c & 1)) +
           static_cast<std::uintptr_t>((part.first - chunk(c).first) * size_);
  }
  void copy_in(std::int64_t c) {
    const Range part = intersect(chunk(c), gives_);
    if (stages_in_ && !part.empty()) detail::copy(own_stage(c, part), own(call_.in, gives_, part), part.size() * size_);
  }
  void copy_out(std::int64_t c) {
    const Range part = intersect(chunk(c), takes_);
    if (stages_out_ && !part.empty()) detail::copy(own(call_.out, takes_, part), own_stage(c, part), part.size() * size_);
  }

  // Reads what the others told. Their lines stay as they are until this rank arrives once more.
  void look() {
    const auto views = channel_.views();
    any_staged_ = false;
    for (std::size_t r = 0; r < told_.size(); ++r) {
      const auto& line = channel_.peer(static_cast<int>(r));
      told_[r] = {line.in, line.out};
      any_staged_ |= is_staged(line.in) || is_staged(line.out);
      views[r] = {is_staged(line.in) ? 0 : channel_.from_offset(line.in), is_staged(line.out) ? 0 : channel_.from_offset(line.out)};
    }
  }

  // Inside the meeting, on the last rank to arrive.
  std::uint64_t last() {
    look();
    const auto views = channel_.views();
    if (detail::overlapping(call_, views)) return mismatched;
    if (!channel_.crowded() || call_.count * size_ > last_arriver_bytes) return 0;
    for (int r = 0; r < channel_.size(); ++r) {
      const View& view = views[static_cast<std::size_t>(r)];
      if ((!call_.gives(r, channel_.size()).empty() && view.in == 0) || (!call_.takes(r, channel_.size()).empty() && view.out == 0))
        return 0;
    }
    last_arriver(channel_, call_);
    return completed;
  }

  // Points the views at the staging of chunk c.
  void aim(std::int64_t c, std::int64_t first) {
    const auto views = channel_.views();
    const auto stage = [&](std::size_t r, std::uint64_t told) {
      return detail::origin(channel_.staging(static_cast<int>(r), static_cast<int>(told - staged) ^ static_cast<int>(c & 1)), first, size_);
    };
    for (std::size_t r = 0; r < told_.size(); ++r) {
      if (is_staged(told_[r].in)) views[r].in = stage(r, told_[r].in);
      if (is_staged(told_[r].out)) views[r].out = stage(r, told_[r].out);
    }
    if (!takes_.empty() && !detail::pushes(call_))
      views[static_cast<std::size_t>(channel_.rank())].out =
          detail::origin(reinterpret_cast<std::uintptr_t>(call_.out), takes_.first, size_);
  }

  Channel<Policy>& channel_;
  const Call& call_;
  std::int64_t size_;
  Range gives_, takes_;
  std::int64_t step_;  // indices a chunk
  std::vector<Told> told_;
  bool stages_in_ = false, stages_out_ = false, any_staged_ = false;
  int turn_ = 0;
};

}  // namespace minitorch::comm
