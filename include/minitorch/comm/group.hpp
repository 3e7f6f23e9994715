// The communicator of ranks that share memory: processes or threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/communicator.hpp>
#include <minitorch/comm/one_shot.hpp>
#include <minitorch/comm/slices.hpp>

namespace minitorch::comm {

// How the shared memory of one group is laid out, for its number of ranks. All-zero memory is a group that has done nothing.
template <class Policy>
class Layout {
 public:
  explicit Layout(int ranks) : ranks_(ranks), pairs_(std::int64_t{ranks} * (ranks - 1) / 2) {}

  std::int64_t chunk() const { return (std::max)(std::int64_t{1} << 16, (std::int64_t{1} << 20) / ranks_ / page * page); }
  // What must have pages from the start; staging gets its own when first used.
  std::int64_t control_bytes() const { return rounded(users_bytes + gate_bytes(ranks_) + pairs_ * gate_bytes(2)); }
  std::int64_t bytes() const { return control_bytes() + 2 * ranks_ * chunk() + pairs_ * 4 * pair_chunk; }

  // Begins the life of a group whose gates take `epoch` as already committed.
  void create(std::byte* base, std::uint64_t epoch) const {
    std::memset(base, 0, static_cast<std::size_t>(control_bytes()));
    site(base).gate->open(epoch, static_cast<std::uint32_t>(ranks_));
    for (int j = 1; j < ranks_; ++j)
      for (int i = 0; i < j; ++i) pair_site(base, i, j).gate->open(epoch, 2);
  }

  std::atomic<std::uint32_t>& users(std::byte* base) const { return *reinterpret_cast<std::atomic<std::uint32_t>*>(base); }
  Site<Policy> site(std::byte* base) const { return make(base + users_bytes, base + control_bytes(), chunk()); }
  Site<Policy> pair_site(std::byte* base, int i, int j) const {  // i < j
    const std::int64_t k = std::int64_t{j} * (j - 1) / 2 + i;
    return make(base + users_bytes + gate_bytes(ranks_) + k * gate_bytes(2),
                base + control_bytes() + 2 * ranks_ * chunk() + k * 4 * pair_chunk, pair_chunk);
  }

 private:
  static constexpr std::int64_t page = 4096, users_bytes = 128, pair_chunk = std::int64_t{1} << 15;

  static std::int64_t rounded(std::int64_t bytes) { return (bytes + page - 1) / page * page; }
  static std::int64_t gate_bytes(int ranks) {
    return static_cast<std::int64_t>(sizeof(Gate<Policy>)) + 2 * ranks * static_cast<std::int64_t>(sizeof(Line<Policy>));
  }
  static Site<Policy> make(std::byte* control, std::byte* staging, std::int64_t chunk) {
    return {reinterpret_cast<Gate<Policy>*>(control), reinterpret_cast<Line<Policy>*>(control + sizeof(Gate<Policy>)), staging, chunk};
  }

  int ranks_;
  std::int64_t pairs_;
};

template <class Policy>
class Group final : public Communicator {
 public:
  // `base` is laid out and created by Layout.
  Group(const Member& member, std::byte* base, std::vector<int> members, int rank, std::uint32_t id, std::chrono::nanoseconds deadline)
      : Communicator(rank, static_cast<int>(members.size()), deadline),
        base_(base),
        layout_(static_cast<int>(members.size())),
        id_(id),
        channel_(member, layout_.site(base), std::move(members), rank, id) {}

  std::pmr::memory_resource* memory() override { return channel_.member().arena; }
  int world_rank(int rank) const override { return channel_.members()[static_cast<std::size_t>(rank)]; }
  void log(std::string_view line) override {
    const std::string text = concat(line, "\n");
    [[maybe_unused]] const ssize_t written = ::write(channel_.member().log, text.data(), text.size());
  }
  std::unique_ptr<Communicator> split(int color, int key) override;

 protected:
  void run(const Call& call) override { run_on(channel_, call); }
  Work start(const Call& call) override;
  void run_pair(int peer, int from, const Call& call) override;

 private:
  void run_on(Channel<Policy>& channel, const Call& call) {
    channel.enter(call, deadline());
    const std::int64_t bytes = call.count * wire_size(call.type);
    Counter& counter = counters_[call.verb];
    ++counter.calls;
    counter.bytes += bytes;
    if (bytes <= inline_bytes) {
      one_shot(channel, call, reinterpret_cast<std::uintptr_t>(channel.next().payload));
    } else if (bytes <= one_shot_bytes) {
      one_shot(channel, call, channel.own_staging(channel.next_turn()));
    } else {
      const auto began = std::chrono::steady_clock::now();
      Slices(channel, call).run();
      counter.moving += std::chrono::steady_clock::now() - began;
    }
    const auto waited = channel.take_waited();
    counter.waiting += waited;
    if (bytes > one_shot_bytes) counter.moving -= waited;
  }

  static constexpr std::int64_t one_shot_bytes = 4096;

  std::byte* base_;
  Layout<Policy> layout_;
  std::uint32_t id_;
  Channel<Policy> channel_;
};

template <class Policy>
Work Group<Policy>::start(const Call& call) {
  run(call);
  return Work();
}

template <class Policy>
void Group<Policy>::run_pair(int, int, const Call&) {}

template <class Policy>
std::unique_ptr<Communicator> Group<Policy>::split(int, int) {
  return nullptr;
}

}  // namespace minitorch::comm
