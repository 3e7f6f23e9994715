// A call that began and has not ended: when all have begun it, whoever looks at it does a part of it. Steps: 1, and none of them waits.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/last_arriver.hpp>
#include <minitorch/comm/slices.hpp>
#include <minitorch/comm/work.hpp>

namespace minitorch::comm {

// Works on a channel of its own, so that any number of other calls may come between its beginning and its end. Private buffers have a
// stand-in in shared memory, filled now and copied back at the end. A short call, and any among more ranks than processors, is done by the
// last to begin it; a long one by those who wait for it, or begin another, while the others still compute.
template <class Policy>
class Begun final : public Pending {
 public:
  Begun(Channel<Policy>& channel, const Call& call, std::chrono::nanoseconds deadline, Counter& counter)
      : channel_(channel), counter_(counter), call_(call), bytes_(call.count * wire_size(call.type)) {
    const auto began = Clock::now();
    channel.enter(call_, deadline);
    const Range all{0, call.count};
    std::uintptr_t in = channel.shared_origin(call.in, all, call.type), out = channel.shared_origin(call.out, all, call.type);
    if ((in == 0 || out == 0) && bytes_ > 0) {
      stand_in_ = static_cast<std::byte*>(channel.member().arena->allocate(static_cast<std::size_t>(bytes_)));
      const auto there = reinterpret_cast<std::uintptr_t>(stand_in_);
      if (in == 0) detail::copy(there, reinterpret_cast<std::uintptr_t>(call.in), bytes_);
      copies_back_ = out == 0;
      if (in == 0) in = there;
      if (out == 0) out = there;
    }
    channel.next().place = {channel.to_place(in), channel.to_place(out)};
    channel.begin([&]() -> std::uint64_t {
      aim();
      if (detail::overlapping(call_, channel.views())) return mismatched;
      if (parts() > 1 && !channel.crowded()) {
        channel.shares().open(channel.calls());
        return offered;
      }
      last_arriver(channel, call_);
      return completed;
    });
    counter_.moving += Clock::now() - began;
  }

  ~Begun() override {
    try {
      wait();
    } catch (...) {  // whoever waits is told; here nobody does
    }
  }

  void wait() override {
    if (!ended_) {
      ended_ = true;
      try {
        const auto began = Clock::now();
        const std::chrono::nanoseconds moved = counter_.moving;
        channel_.end([this] { return work(); });
        counter_.waiting += Clock::now() - began - (counter_.moving - moved);
        if (copies_back_) detail::copy(reinterpret_cast<std::uintptr_t>(call_.out), reinterpret_cast<std::uintptr_t>(stand_in_), bytes_);
      } catch (...) {
        error_ = std::current_exception();
      }
      if (stand_in_ != nullptr) channel_.member().arena->deallocate(stand_in_, static_cast<std::size_t>(bytes_));
    }
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

  bool done() override {
    look();
    return ended_ || channel_.over();
  }

  // Does what there is to do, waits for nobody, throws nothing: an error comes from wait().
  void look() noexcept override {
    if (ended_ || channel_.over()) return;
    try {
      channel_.look([this] { return work(); });
    } catch (...) {  // the launch has failed, which wait() finds as well
    }
  }

  void abandon() noexcept override {
    if (ended_) return;
    World& world = *channel_.member().world;
    std::uint32_t nobody = 0;  // the text follows when the exception has left the rank's function
    if (world.cause.claimed.compare_exchange_strong(nobody, static_cast<std::uint32_t>(channel_.member().rank) + 1)) world.wake_all();
  }

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr std::int64_t part_bytes = std::int64_t{1} << 17;

  std::int64_t parts() const { return (bytes_ + part_bytes - 1) / part_bytes; }

  // Points the views at what all have told.
  void aim() {
    for (int r = 0; r < channel_.size(); ++r) {
      const Place& place = channel_.peer(r).place;
      channel_.views()[static_cast<std::size_t>(r)] = {channel_.from_place(place.in), channel_.from_place(place.out)};
    }
  }

  // Takes parts until none is left. Returns whether the last of all to be done was one of them.
  bool work() {
    const auto began = Clock::now();
    aim();
    const auto count = static_cast<std::uint64_t>(parts());
    const std::int64_t step = part_bytes / wire_size(call_.type);
    bool was_last = false;
    channel_.touching([&] {
      for (std::uint64_t part; !was_last && (part = channel_.shares().take(channel_.calls(), count)) < count;) {
        const std::int64_t first = static_cast<std::int64_t>(part) * step;
        transfer(call_, channel_.views(), {first, (std::min)(first + step, call_.count)}, {0, channel_.size()});
        was_last = channel_.shares().finish(count);
      }
    });
    counter_.moving += Clock::now() - began;
    return was_last;
  }

  Channel<Policy>& channel_;
  Counter& counter_;
  Call call_;
  std::int64_t bytes_;
  std::byte* stand_in_ = nullptr;
  bool copies_back_ = false, ended_ = false;
  std::exception_ptr error_;
};

}  // namespace minitorch::comm
