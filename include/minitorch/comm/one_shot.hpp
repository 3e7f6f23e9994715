// Small calls: everybody shows a copy of its input, all meet once, everybody computes its own output. Steps: 1.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/channel.hpp>

namespace minitorch::comm {

// The copy travels in the arrival line when it fits there, and in staging memory otherwise. n copies in, n x n reads. It wins as long as a
// meeting costs more than reading everything.
template <class Policy>
void one_shot(Channel<Policy>& channel, const Call& call) {
  const std::int64_t size = wire_size(call.type);
  const int ranks = channel.size(), rank = channel.rank();
  const Range gives = call.gives(rank, ranks), takes = call.takes(rank, ranks);
  const auto origin = [size](std::uintptr_t first, std::int64_t index) { return first - static_cast<std::uintptr_t>(index * size); };
  const bool is_inline = call.count * size <= inline_bytes;

  auto& line = channel.next();
  const std::uintptr_t shown = is_inline ? reinterpret_cast<std::uintptr_t>(line.payload) : channel.next_staging();
  if (!is_inline) line.place.in = channel.to_place(shown);
  if (!gives.empty()) detail::copy(shown, reinterpret_cast<std::uintptr_t>(call.in), gives.size() * size);
  channel.meet();
  if (takes.empty()) return;
  const auto views = channel.views();
  for (int r = 0; r < ranks; ++r) {
    auto& peer = channel.peer(r);
    const std::uintptr_t first = is_inline ? reinterpret_cast<std::uintptr_t>(peer.payload) : channel.from_place(peer.place.in);
    views[static_cast<std::size_t>(r)].in = origin(first, call.gives(r, ranks).first);
  }
  views[static_cast<std::size_t>(rank)].out = origin(reinterpret_cast<std::uintptr_t>(call.out), takes.first);
  transfer(call, views, takes, {rank, rank + 1});
}

}  // namespace minitorch::comm
