// launch(n, function): n ranks run the function, each with a Communicator; their results come back in order.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include <minitorch/comm/communicator.hpp>
#include <minitorch/comm/options.hpp>
#include <minitorch/comm/processes.hpp>
#include <minitorch/comm/result.hpp>

namespace minitorch {

namespace comm {

template <class Policy>
void run_threads(const Stage<Policy>& stage) {
  std::vector<std::thread> threads;
  try {
    for (int r = 0; r < stage.plan.ranks; ++r) threads.emplace_back([&stage, r] { run_rank(stage, r, 2); });
  } catch (...) {  // those that run are told that the others never will
    const Described error = describe_exception();
    stage.world->cause.claim(static_cast<std::uint32_t>(stage.plan.ranks) + 1, Failure::lost, static_cast<int>(threads.size()),
                             ErrorClass::comm, error.text);
    stage.world->wake_all();
  }
  for (std::thread& t : threads) t.join();
}

// The default size of an arena and the check of a wished one.
inline std::int64_t arena_bytes(const LaunchOptions& options, int ranks) {
  const std::int64_t total = os::memory_total(), granule = Plan<Native>::granule;
  if (options.arena < 0 || options.arena > total / ranks)
    fail<ArgumentError>("launch: the arenas of all ranks must fit into memory, got ", ranks, " x ", options.arena, " of ", total, " bytes");
  const std::int64_t wished = options.arena > 0 ? options.arena : (std::min)(std::int64_t{1} << 30, total / ranks / 2);
  return (wished + granule - 1) / granule * granule;
}

// Runs the body on all ranks and returns what each encoded. Throws the first cause when one of them failed.
template <class Policy>
std::vector<std::string> launch_encoded(const LaunchOptions& options, int ranks, const Body& body) {
  if (ranks < 1) fail<ArgumentError>("launch: at least one rank is needed, got ", ranks);
  if (ranks > 1024) fail<ArgumentError>("launch: at most 1024 ranks are supported, got ", ranks);
  const Plan<Policy> plan{ranks, arena_bytes(options, ranks)};
  const Region region(plan.bytes());
  region.commit(0, plan.group_at() + Layout<Policy>(ranks).control_bytes());
  World* const world = World::create(region.base(), ranks);
  const int processors = Policy::processors();
  world->crowded = ranks > processors;
  Layout<Policy>(ranks).create(region.base() + plan.group_at(), options.first_epoch);
  const Stage<Policy> stage{options, plan, region, world, body, thread_state, processors};
  if (options.backend == Backend::threads)
    run_threads(stage);
  else
    Processes<Policy>(stage).run();

  std::vector<std::string> results;
  for (int r = 0; r < ranks; ++r) {
    const Condition& status = world->status(r);
    if (status.state.load(std::memory_order_acquire) != State::finished) rethrow(world->cause);
    results.emplace_back(reinterpret_cast<const char*>(region.base() + status.result.load(std::memory_order_relaxed)),
                         status.bytes.load(std::memory_order_relaxed));
  }
  return results;
}

// Void when the function returns nothing.
template <class Policy, class Function>
auto launch_with(const LaunchOptions& options, int ranks, Function&& function) {
  using Result = std::decay_t<std::invoke_result_t<Function&, Communicator&>>;
  const Body body = [&function](Communicator& comm) {
    std::string out;
    if constexpr (std::is_void_v<Result>)
      function(comm);
    else
      Codec<Result>::encode(out, function(comm));
    return out;
  };
  const std::vector<std::string> encoded = launch_encoded<Policy>(options, ranks, body);
  if constexpr (!std::is_void_v<Result>) {
    std::vector<Result> results;
    for (std::string_view bytes : encoded) results.push_back(Codec<Result>::decode(bytes));
    return results;
  }
}

}  // namespace comm

// Runs function(Communicator&) on `ranks` forked processes (or threads) and returns one result a rank, in order; nothing when it returns
// void. Returns when all have ended and left nothing behind. Throws the first cause when a rank failed and did not recover: its own
// exception, or PeerLost when it died, or TimeoutError. The ranks start as copies of the calling thread: its variables, its random stream,
// its grad mode.
template <class Function>
auto launch(const LaunchOptions& options, int ranks, Function&& function) {
  return comm::launch_with<comm::Native>(options, ranks, function);
}
template <class Function>
auto launch(int ranks, Function&& function) {
  return comm::launch_with<comm::Native>(LaunchOptions{}, ranks, function);
}

}  // namespace minitorch
