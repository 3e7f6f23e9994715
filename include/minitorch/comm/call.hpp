// One call of a collective as its rank sees it, and the fingerprint by which ranks find out that they call the same one.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include <minitorch/comm/types.hpp>
#include <minitorch/core/text.hpp>

namespace minitorch::comm {

struct Range {  // of indices
  std::int64_t first = 0, last = 0;

  std::int64_t size() const { return last - first; }
  bool empty() const { return last <= first; }
};

constexpr Range intersect(Range a, Range b) { return {(std::max)(a.first, b.first), (std::min)(a.last, b.last)}; }

struct Call {
  Verb verb = Verb::barrier;
  Reduction reduction = Reduction::sum;
  WireType type = WireType::byte;
  int root = 0;
  std::int64_t count = 0;                  // indices of the whole operation
  const void* in = nullptr;                // what this rank gives
  void* out = nullptr;                     // what it receives
  std::span<const std::int64_t> counts{};  // the size of each rank's piece; empty: all equal
  std::uint64_t tag = 0;                   // what the caller wants to be equal on all ranks besides: a shape, a name

  // The indices that `rank` of `ranks` owns.
  Range piece(int rank, int ranks) const {
    if (counts.empty()) return {count / ranks * rank, count / ranks * (rank + 1)};
    std::int64_t first = 0;
    for (int r = 0; r < rank; ++r) first += counts[static_cast<std::size_t>(r)];
    return {first, first + counts[static_cast<std::size_t>(rank)]};
  }
  // The indices whose values `rank` provides.
  Range gives(int rank, int ranks) const {
    switch (from(verb)) {
      case From::all: return {0, count};
      case From::owner: return piece(rank, ranks);
      case From::root: return rank == root ? Range{0, count} : Range{};
    }
    return {};
  }
  // The indices whose values `rank` receives.
  Range takes(int rank, int ranks) const {
    switch (to(verb)) {
      case To::all: return from(verb) == From::root && rank == root ? Range{} : Range{0, count};  // it has them
      case To::owner: return piece(rank, ranks);
      case To::root: return rank == root ? Range{0, count} : Range{};
    }
    return {};
  }
};

// Four words that are equal on all ranks when the call is.
struct Fingerprint {
  std::array<std::uint64_t, 4> words{};

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {  // one round of splitmix64
  hash += value + 0x9e3779b97f4a7c15u;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

inline Fingerprint fingerprint(const Call& call, std::uint32_t group, std::uint64_t sequence) {
  std::uint64_t pieces = 0;
  for (std::int64_t c : call.counts) pieces = mix(pieces, static_cast<std::uint64_t>(c));
  const auto byte = [](auto value, int at) { return static_cast<std::uint64_t>(value) << (8 * at); };
  const Reduction reduction = reduces(call.verb) ? call.reduction : Reduction::sum;
  const int root = has_root(call.verb) ? call.root + 1 : 0;
  return {{byte(call.verb, 0) | byte(reduction, 1) | byte(call.type, 2) | byte(root & 0xffff, 3) | byte(sequence & 0xffffff, 5),
           static_cast<std::uint64_t>(call.count), pieces ^ byte(group, 4), call.tag}};
}

// "all_reduce(sum, 1000 x float32), call 12"
inline void append_text(std::string& out, const Fingerprint& print) {
  using minitorch::append_text;
  const auto byte = [&](int at) { return static_cast<std::uint8_t>(print.words[0] >> (8 * at)); };
  const Verb verb = static_cast<Verb>(byte(0));
  if (verb > Verb::invalid) return append_text(out, "nothing yet");
  append_text(out, name_of(verb));
  if (verb != Verb::barrier && verb != Verb::split && verb != Verb::invalid) {
    append_text(out, "(");
    if (reduces(verb)) out += name_of(static_cast<Reduction>(byte(1))), out += ", ";
    append_text(out, print.words[1]);
    append_text(out, " x ");
    append_text(out, name_of(static_cast<WireType>(byte(2))));
    if (const int root = byte(3) | byte(4) << 8; root > 0) append_text(out, ", root "), append_text(out, root - 1);
    if ((print.words[2] & 0xffffffffu) != 0) append_text(out, ", pieces #"), append_text(out, print.words[2] & 0xffff);
    if (print.words[3] != 0) append_text(out, ", tag #"), append_text(out, print.words[3] & 0xffff);
    append_text(out, ")");
  }
  if (const std::uint64_t sequence = print.words[0] >> 40; sequence != 0) append_text(out, ", call "), append_text(out, sequence);
}

}  // namespace minitorch::comm
