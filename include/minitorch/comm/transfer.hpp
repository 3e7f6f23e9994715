// Doing the work of a call for a range of its indices: every algorithm is a schedule of these.
// SPDX-License-Identifier: MIT
#pragma once

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

// Some values, on the stack as long as they are few.
template <class T>
class Several {
 public:
  explicit Several(std::size_t count) {
    if (count > few) many_.resize(count), data_ = many_.data();
  }
  Several(const Several&) = delete;
  T* data() { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }

 private:
  static constexpr std::size_t few = 64;
  T few_[few];
  std::vector<T> many_;
  T* data_ = few_;
};

inline void copy(std::uintptr_t to, std::uintptr_t from, std::int64_t bytes) {
  if (to != from && bytes > 0)
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), static_cast<std::size_t>(bytes));
}

// The address of index 0 when index `index` lies at `address`.
inline std::uintptr_t origin(std::uintptr_t address, std::int64_t index, std::int64_t size) {
  return address - static_cast<std::uintptr_t>(index * size);
}

}  // namespace detail

// Reduces the indices in `range` into every view of `outs`.
inline void reduce(const Call& call, std::span<const View> views, Range range, std::span<const std::uintptr_t> outs) {
  if (views.size() == 1 && outs.size() == 1 && outs[0] == views[0].in) return;  // a rank alone has its sum
  const auto bytes = [&](std::int64_t index) { return static_cast<std::uintptr_t>(index * wire_size(call.type)); };
  detail::Several<const void*> sources(views.size());
  for (std::size_t r = 0; r < views.size(); ++r) sources[r] = reinterpret_cast<const void*>(views[r].in);
  detail::Several<void*> to(outs.size());
  for (std::int64_t i = range.first; i < range.last; i += tree_block) {
    for (std::size_t k = 0; k < outs.size(); ++k) to[k] = reinterpret_cast<void*>(outs[k] + bytes(i));
    combine(call.reduction, call.type, sources.data(), static_cast<int>(views.size()), i, (std::min)(tree_block, range.last - i), to.data(),
            static_cast<int>(outs.size()));
  }
}

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
    detail::Several<std::uintptr_t> outs(static_cast<std::size_t>(who.last - who.first));
    for (int r = who.first; r < who.last; ++r) outs[static_cast<std::size_t>(r - who.first)] = view(r).out;
    reduce(call, views, indices, {outs.data(), static_cast<std::size_t>(who.last - who.first)});
  };

  if (from(call.verb) != From::owner && comm::to(call.verb) != To::owner) return part(range, 0);
  for (int owner = 0; owner < ranks; ++owner) part(intersect(range, call.piece(owner, ranks)), owner);
}

}  // namespace minitorch::comm
