// The communicator of one rank alone: the same calls, without processes or shared memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>

#include <minitorch/comm/communicator.hpp>
#include <minitorch/comm/transfer.hpp>

namespace minitorch {

// What code that takes a Communicator gets when there is nobody to talk to.
class SelfCommunicator final : public Communicator {
 public:
  SelfCommunicator() : Communicator(0, 1, std::chrono::nanoseconds(0)) {}

  std::pmr::memory_resource* memory() override { return std::pmr::get_default_resource(); }
  int world_rank(int) const override { return 0; }
  void log(std::string_view line) override { std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data()); }
  std::unique_ptr<Communicator> split(int color, int = 0) override { return color < 0 ? nullptr : std::make_unique<SelfCommunicator>(); }

 protected:
  void run(const comm::Call& call) override {
    Counter& counter = counters_[call.verb];
    ++counter.calls;
    counter.bytes += call.count * comm::wire_size(call.type);
    if (call.verb == comm::Verb::barrier || call.verb == comm::Verb::invalid) return;
    const comm::View view{reinterpret_cast<std::uintptr_t>(call.in), reinterpret_cast<std::uintptr_t>(call.out)};
    comm::transfer(call, std::span(&view, 1), {0, call.count}, {0, 1});
  }
  Work start(const comm::Call& call) override {
    run(call);
    return Work();
  }
  void run_pair(int, int, const comm::Call&) override {}  // there is no other rank: send and recv refuse before
};

}  // namespace minitorch
