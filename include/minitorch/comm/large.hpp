// Large calls: all meet and tell where their memory lies, which decides what follows.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/chunks.hpp>
#include <minitorch/comm/last_arriver.hpp>

namespace minitorch::comm {

// One rank's side.
template <class Policy>
class Large {
 public:
  Large(Channel<Policy>& channel, const Call& call)
      : channel_(channel),
        call_(call),
        chunks_(channel, call),
        gives_(call.gives(channel.rank(), channel.size())),
        takes_(call.takes(channel.rank(), channel.size())),
        one_works_(channel.crowded() && call.count * wire_size(call.type) <= last_arriver_bytes) {}

  void run() {
    Place mine{told(call_.in, gives_), told(call_.out, takes_)};
    if (!one_works_ && mine.out == staged && !detail::pushes(call_)) mine.out = 0;  // nobody else writes it
    if (mine.in == staged) chunks_.show(0, one_works_);
    channel_.next().place = mine;
    const std::uint64_t flags = channel_.meet([this] { return judge(); });
    if ((flags & completed) != 0) {
      if (mine.out == staged) copy_out();
      return;
    }
    look();
    any_staged_ ? chunks_.run() : slices(channel_, call_);
  }

 private:
  static constexpr std::uint64_t staged = 2;  // instead of an offset: "in my staging"

  std::uint64_t told(const void* buffer, Range indices) const {
    if (indices.empty()) return 0;
    const std::uintptr_t origin = channel_.shared_origin(buffer, indices, call_.type);
    return origin == 0 ? staged : channel_.to_place(origin);
  }

  // Reads what the others told. Their lines stay as they are until this rank arrives once more.
  void look() {
    any_staged_ = false;
    for (int r = 0; r < channel_.size(); ++r) {
      const auto [in, out] = channel_.peer(r).place;
      any_staged_ |= in == staged || out == staged;
      channel_.views()[static_cast<std::size_t>(r)] = {in == staged ? 0 : channel_.from_place(in),
                                                       out == staged ? 0 : channel_.from_place(out)};
    }
  }

  std::uint64_t judge() {
    look();
    if (detail::overlapping(call_, channel_.views())) return mismatched;
    if (!one_works_ || (any_staged_ && call_.count * wire_size(call_.type) > channel_.chunk())) return 0;
    for (int r = 0; r < channel_.size(); ++r) {  // the first chunk is everything
      const auto [in, out] = channel_.peer(r).place;
      View& view = channel_.views()[static_cast<std::size_t>(r)];
      if (in == staged) view.in = channel_.staging(r);
      if (out == staged) view.out = channel_.staging(r);
    }
    last_arriver(channel_, call_);
    return completed;
  }

  void copy_out() {
    const std::int64_t size = wire_size(call_.type);
    detail::copy(reinterpret_cast<std::uintptr_t>(call_.out),
                 channel_.staging(channel_.rank()) + static_cast<std::uintptr_t>(takes_.first * size), takes_.size() * size);
  }

  Channel<Policy>& channel_;
  const Call& call_;
  Chunks<Policy> chunks_;
  Range gives_, takes_;
  bool one_works_;  // the last to arrive, if it can reach everything
  bool any_staged_ = false;
};

}  // namespace minitorch::comm
