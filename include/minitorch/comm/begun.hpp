// A call that began and has not ended: the last rank to arrive does all of it. Steps: 1, and none of them waits.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/last_arriver.hpp>
#include <minitorch/comm/slices.hpp>
#include <minitorch/comm/work.hpp>

namespace minitorch::comm {

// Works on a channel of its own, so that any number of other calls may come between its beginning and its end. Private buffers have a
// stand-in in shared memory, filled now and copied back at the end.
template <class Policy>
class Begun final : public Pending {
 public:
  Begun(Channel<Policy>& channel, const Call& call, std::chrono::nanoseconds deadline)
      : channel_(channel), call_(call), bytes_(call.count * wire_size(call.type)) {
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
      const auto views = channel.views();
      for (int r = 0; r < channel.size(); ++r) {
        const Place& place = channel.peer(r).place;
        views[static_cast<std::size_t>(r)] = {channel.from_place(place.in), channel.from_place(place.out)};
      }
      if (detail::overlapping(call_, views)) return mismatched;
      last_arriver(channel, call_);
      return completed;
    });
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
        channel_.end();
        if (copies_back_) detail::copy(reinterpret_cast<std::uintptr_t>(call_.out), reinterpret_cast<std::uintptr_t>(stand_in_), bytes_);
      } catch (...) {
        error_ = std::current_exception();
      }
      if (stand_in_ != nullptr) channel_.member().arena->deallocate(stand_in_, static_cast<std::size_t>(bytes_));
    }
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

  bool done() const override { return ended_ || channel_.over(); }

  void abandon() noexcept override {
    if (ended_) return;
    World& world = *channel_.member().world;
    std::uint32_t nobody = 0;  // the text follows when the exception has left the rank's function
    if (world.cause.claimed.compare_exchange_strong(nobody, static_cast<std::uint32_t>(channel_.member().rank) + 1)) world.wake_all();
  }

 private:
  Channel<Policy>& channel_;
  Call call_;
  std::int64_t bytes_;
  std::byte* stand_in_ = nullptr;
  bool copies_back_ = false, ended_ = false;
  std::exception_ptr error_;
};

}  // namespace minitorch::comm
