// Doing the work of a call for a range of its indices: every algorithm is a schedule of these.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include <minitorch/comm/call.hpp>
#include <minitorch/comm/tree.hpp>

namespace minitorch::comm {

// Where the value of index 0 of a rank's input and output lies, or would lie: index i is i elements further. 0: cannot be reached.
struct View {
  std::uintptr_t in = 0, out = 0;
};

namespace detail {

inline void copy(std::uintptr_t to, std::uintptr_t from, std::int64_t bytes) {
  if (to != from && bytes > 0)
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), static_cast<std::size_t>(bytes));
}

}  // namespace detail

// The ranks that receive index `range.first` and with it the whole range, which lies in one piece when pieces matter.
struct Receivers {
  int first, last;
};

// Computes the values in `range` and writes them to all ranks in [to.first, to.last) that receive them.
inline void transfer(const Call& call, std::span<const View> views, Range range, Receivers to) {
  const int ranks = static_cast<int>(views.size());
  const std::int64_t size = wire_size(call.type);
  const auto at = [size](std::uintptr_t origin, std::int64_t index) { return origin + static_cast<std::uintptr_t>(index * size); };
  const auto view = [&](int rank) { return views[static_cast<std::size_t>(rank)]; };
  if (call.verb == Verb::barrier) return;

  // A part whose values come from one place and go to the same ranks.
  const auto part = [&](Range indices, int owner) {
    Receivers who = to;
    if (comm::to(call.verb) == To::owner) who = {(std::max)(to.first, owner), (std::min)(to.last, owner + 1)};
    if (comm::to(call.verb) == To::root) who = {(std::max)(to.first, call.root), (std::min)(to.last, call.root + 1)};
    if (indices.empty() || who.first >= who.last) return;
    if (from(call.verb) != From::all) {
      const std::uintptr_t source = at(view(from(call.verb) == From::root ? call.root : owner).in, indices.first);
      for (int r = who.first; r < who.last; ++r)
        if (!call.takes(r, ranks).empty()) detail::copy(at(view(r).out, indices.first), source, indices.size() * size);
      return;
    }
    std::array<const void*, 64> few;
    std::vector<const void*> many;
    const void** sources = few.data();
    if (ranks > static_cast<int>(few.size())) many.resize(static_cast<std::size_t>(ranks)), sources = many.data();
    for (int r = 0; r < ranks; ++r) sources[r] = reinterpret_cast<const void*>(view(r).in);
    for (std::int64_t i = indices.first; i < indices.last; i += tree_block) {
      const std::int64_t block = (std::min)(tree_block, indices.last - i);
      const std::uintptr_t result = at(view(who.first).out, i);
      combine(call.reduction, call.type, sources, ranks, i, block, reinterpret_cast<void*>(result));
      for (int r = who.first + 1; r < who.last; ++r) detail::copy(at(view(r).out, i), result, block * size);
    }
  };

  if (from(call.verb) != From::owner && comm::to(call.verb) != To::owner) return part(range, 0);
  for (int owner = 0; owner < ranks; ++owner) part(intersect(range, call.piece(owner, ranks)), owner);
}

}  // namespace minitorch::comm
