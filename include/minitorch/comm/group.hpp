// The communicator of ranks that share memory: processes or threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <map>

#include <minitorch/comm/begun.hpp>
#include <minitorch/comm/communicator.hpp>
#include <minitorch/comm/large.hpp>
#include <minitorch/comm/layout.hpp>
#include <minitorch/comm/one_shot.hpp>

namespace minitorch::comm {

template <class Policy>
class Group final : public Communicator {
 public:
  // `base` is laid out and created by Layout.
  Group(const Member& member, std::byte* base, const std::vector<int>& members, int rank, std::uint32_t id,
        std::chrono::nanoseconds deadline)
      : Communicator(rank, static_cast<int>(members.size()), deadline),
        base_(base),
        layout_(static_cast<int>(members.size())),
        id_(id),
        channel_(member, layout_.site(base), members, rank, id) {}

  // Nobody waits: members may end a group in any order.
  ~Group() override {
    for (Slot& slot : slots_) settle(slot);
    layout_.users(base_).fetch_sub(1, std::memory_order_acq_rel);
    give_back(channel_.member());
  }

  std::pmr::memory_resource* memory() override { return channel_.member().arena; }
  int world_rank(int rank) const override { return channel_.members()[static_cast<std::size_t>(rank)]; }
  void log(std::string_view line) override {
    const std::string text = concat(line, "\n");
    [[maybe_unused]] const ssize_t written = ::write(channel_.member().log, text.data(), text.size());
  }

  std::unique_ptr<Communicator> split(int color, int key) override;

 protected:
  void run(const Call& call) override { run_on(channel_, call); }

  Work start(const Call& call) override {
    const int k = next_slot_;
    next_slot_ = (next_slot_ + 1) % Layout<Policy>::slot_count;
    Slot& slot = slots_[static_cast<std::size_t>(k)];
    settle(slot);
    if (slot.channel == nullptr)
      slot.channel =
          std::make_unique<Channel<Policy>>(channel_.member(), layout_.slot(base_, k), channel_.members(), rank(), id_, Meeting::counted);
    for (Slot& other : slots_)
      if (other.pending != nullptr) other.pending->look();
    Counter& counter = counters_[call.verb];
    ++counter.calls;
    counter.bytes += call.count * wire_size(call.type);
    slot.pending = std::make_shared<Begun<Policy>>(*slot.channel, call, deadline(), counter);
    return Work(slot.pending);
  }

  void run_pair(int peer, int from, const Call& call) override {
    const int i = (std::min)(rank(), peer), j = (std::max)(rank(), peer);
    auto& channel = pairs_[peer];
    if (channel == nullptr)
      channel = std::make_unique<Channel<Policy>>(channel_.member(), layout_.pair(base_, i, j), std::vector{world_rank(i), world_rank(j)},
                                                  rank() == i ? 0 : 1, id_);
    Call paired = call;
    paired.root = from == i ? 0 : 1;
    run_on(*channel, paired);
  }

 private:
  struct Slot {
    std::unique_ptr<Channel<Policy>> channel;
    std::shared_ptr<Pending> pending;
  };

  // Ends what the slot is used for. Its Work reports an error, if there was one.
  static void settle(Slot& slot) noexcept {
    if (slot.pending == nullptr) return;
    if (std::uncaught_exceptions() > 0) slot.pending->abandon();
    try {
      slot.pending->wait();
    } catch (...) {
    }
    slot.pending.reset();
  }

  static constexpr std::int64_t one_shot_bytes = 1024;

  // The algorithm depends on what is the same on all ranks: the size.
  void run_on(Channel<Policy>& channel, const Call& call) {
    channel.enter(call, deadline());
    const std::int64_t bytes = call.count * wire_size(call.type);
    Counter& counter = counters_[call.verb];
    ++counter.calls;
    counter.bytes += bytes;
    const bool is_large = bytes > one_shot_bytes;
    channel.time_waits(is_large);
    if (is_large) {
      const auto began = std::chrono::steady_clock::now();
      Large(channel, call).run();
      counter.moving += std::chrono::steady_clock::now() - began;
    } else {
      one_shot(channel, call);
    }
    const auto waited = channel.take_waited();
    counter.waiting += waited;
    if (is_large) counter.moving -= waited;
  }

  // Frees what this rank made room for and nobody uses any more.
  static void give_back(const Member& member) {
    std::erase_if(member.blocks, [&](const Member::Block& block) {
      if (reinterpret_cast<std::atomic<std::uint32_t>*>(block.base)->load(std::memory_order_acquire) != 0) return false;
      member.arena->release(block.base, block.bytes);
      return true;
    });
  }

  std::byte* base_;
  Layout<Policy> layout_;
  std::uint32_t id_, splits_ = 0;
  Channel<Policy> channel_;
  std::array<Slot, Layout<Policy>::slot_count> slots_;
  int next_slot_ = 0;
  std::map<int, std::unique_ptr<Channel<Policy>>> pairs_;  // by peer
};

template <class Policy>
std::unique_ptr<Communicator> Group<Policy>::split(int color, int key) {
  const auto gather = [&](auto mine, auto& all) {
    run({.verb = Verb::split, .type = wire_type_of<decltype(mine)>, .count = size(), .in = &mine, .out = all.data()});
  };
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<std::int64_t> wishes(ranks), places(ranks);
  gather(std::int64_t{color} * (std::int64_t{1} << 32) + key, wishes);
  const auto color_of = [&](int r) {
    return static_cast<int>((wishes[static_cast<std::size_t>(r)] - static_cast<int>(wishes[static_cast<std::size_t>(r)])) >> 32);
  };
  const auto key_of = [&](int r) { return static_cast<int>(wishes[static_cast<std::size_t>(r)]); };
  std::vector<int> order;
  for (int r = 0; r < size(); ++r)
    if (color >= 0 && color_of(r) == color) order.push_back(r);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key_of(a) < key_of(b); });

  // The first of each new group makes room for it.
  const Member& member = channel_.member();
  const Layout<Policy> layout(static_cast<int>(order.size()));
  std::int64_t place = 0;
  std::exception_ptr error;
  if (!order.empty() && order[0] == rank()) try {
      give_back(member);
      std::byte* const base = member.arena->reserve(layout.bytes());
      member.blocks.push_back({base, layout.bytes()});
      member.arena->commit(base, layout.control_bytes());
      layout.create(base, 0);
      place = base - member.region->base();
    } catch (...) {
      error = std::current_exception();
    }
  gather(place, places);
  ++splits_;
  if (error != nullptr) std::rethrow_exception(error);
  if (order.empty()) return nullptr;
  place = places[static_cast<std::size_t>(order[0])];
  if (place == 0) fail<CommError>("split: rank ", world_rank(order[0]), " had no shared memory for the group of color ", color);
  int mine = 0;
  std::vector<int> members;
  for (int r : order) {
    if (r == rank()) mine = static_cast<int>(members.size());
    members.push_back(world_rank(r));
  }
  const auto id = static_cast<std::uint32_t>(mix(mix(id_, splits_), static_cast<std::uint64_t>(color)));
  return std::make_unique<Group>(member, member.region->base() + place, members, mine, id, deadline());
}

}  // namespace minitorch::comm
