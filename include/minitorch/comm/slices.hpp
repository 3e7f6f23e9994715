// Large calls in shared memory: after a meeting each rank does its share of the work on everybody's memory, and all meet again. Steps: 2.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/channel.hpp>

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

}  // namespace detail

// After the meeting in which all told where their memory is. What is not pushed is pulled by its receiver.
template <class Policy>
void slices(Channel<Policy>& channel, const Call& call) {
  const int ranks = channel.size(), rank = channel.rank();
  const Range all{0, call.count}, takes = call.takes(rank, ranks);
  const std::int64_t size = wire_size(call.type);
  const auto views = channel.views();
  channel.touching([&] {
    if (detail::pushes(call)) return transfer(call, views, detail::share(all, rank, ranks, size), {0, ranks});
    views[static_cast<std::size_t>(rank)].out = detail::origin(reinterpret_cast<std::uintptr_t>(call.out), takes.first, size);
    transfer(call, views, takes, {rank, rank + 1});
  });
  channel.meet();
}

}  // namespace minitorch::comm
