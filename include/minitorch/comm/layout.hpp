// How the shared memory of one group is laid out, for its number of ranks.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/channel.hpp>

namespace minitorch::comm {

// From the base: how many ranks still use it; the group's channel; the slot_count of calls that have begun; one channel a pair of ranks for
// send and recv; then the staging of the group's channel and of the pairs, whose pages come when they are first used.
template <class Policy>
class Layout {
 public:
  static constexpr int slot_count = 8;  // calls that can be under way at the same time

  explicit Layout(int ranks) : ranks_(ranks), pairs_(std::int64_t{ranks} * (ranks - 1) / 2) {}

  std::int64_t chunk() const { return (std::max)(std::int64_t{1} << 16, (std::int64_t{1} << 20) / ranks_ / page * page); }
  std::int64_t sums() const { return rounded(chunk() / ranks_ + 128); }
  // What must have pages from the start.
  std::int64_t control_bytes() const { return rounded(users_bytes + (1 + slot_count) * gate_bytes(ranks_) + pairs_ * gate_bytes(2)); }
  std::int64_t bytes() const { return pairs_at() + pairs_ * 4 * pair_chunk; }

  // Begins the life of a group whose gates take `epoch` as already committed.
  void create(std::byte* base, std::uint64_t epoch) const {
    std::memset(base, 0, static_cast<std::size_t>(control_bytes()));
    users(base).store(static_cast<std::uint32_t>(ranks_), std::memory_order_relaxed);
    site(base).gate->open(epoch, static_cast<std::uint32_t>(ranks_));  // flags of zero are below every epoch
    for (int k = 0; k < slot_count; ++k) slot(base, k).gate->open(epoch, static_cast<std::uint32_t>(ranks_));
    for (int j = 1; j < ranks_; ++j)
      for (int i = 0; i < j; ++i) pair(base, i, j).gate->open(epoch, 2);
  }

  std::atomic<std::uint32_t>& users(std::byte* base) const { return *reinterpret_cast<std::atomic<std::uint32_t>*>(base); }
  Site<Policy> site(std::byte* base) const { return make(base + users_bytes, base + control_bytes(), chunk(), sums()); }
  Site<Policy> slot(std::byte* base, int k) const { return make(base + users_bytes + (1 + k) * gate_bytes(ranks_), nullptr, 0, 0); }
  // i < j.
  Site<Policy> pair(std::byte* base, int i, int j) const {
    const std::int64_t k = std::int64_t{j} * (j - 1) / 2 + i;
    return make(base + users_bytes + (1 + slot_count) * gate_bytes(ranks_) + k * gate_bytes(2), base + pairs_at() + k * 4 * pair_chunk,
                pair_chunk, 0);
  }

 private:
  static constexpr std::int64_t page = 4096, users_bytes = 128, pair_chunk = std::int64_t{1} << 15;

  std::int64_t pairs_at() const { return control_bytes() + 2 * ranks_ * (chunk() + sums()); }
  static std::int64_t rounded(std::int64_t bytes) { return (bytes + page - 1) / page * page; }
  static std::int64_t gate_bytes(int ranks) {
    return static_cast<std::int64_t>(sizeof(Gate<Policy>) + sizeof(Shares<Policy>)) +
           2 * ranks * static_cast<std::int64_t>(sizeof(Line<Policy>));
  }
  static Site<Policy> make(std::byte* control, std::byte* staging, std::int64_t chunk, std::int64_t sums) {
    std::byte *const shares = control + sizeof(Gate<Policy>), *const lines = shares + sizeof(Shares<Policy>);
    return {reinterpret_cast<Gate<Policy>*>(control),
            reinterpret_cast<Line<Policy>*>(lines),
            reinterpret_cast<Shares<Policy>*>(shares),
            staging,
            chunk,
            sums};
  }

  int ranks_;
  std::int64_t pairs_;
};

}  // namespace minitorch::comm
