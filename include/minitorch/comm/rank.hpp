// What runs inside a rank: its thread's state, its communicator, the user's function, and what becomes of its result or exception.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <minitorch/comm/group.hpp>
#include <minitorch/comm/options.hpp>
#include <minitorch/core/parallel_for.hpp>
#include <minitorch/core/thread_state.hpp>

namespace minitorch::comm {

// Encodes the result of the user's function.
using Body = std::function<std::string(Communicator&)>;

// Throws the first cause of a launch that failed, as the class that it had on its rank.
[[noreturn]] inline void rethrow(const Cause& cause) {
  const std::string from =
      cause.failure.load(std::memory_order_acquire) == Failure::threw ? concat("launch: rank ", cause.rank, ": ") : "launch: ";
  switch (cause.error) {
    case ErrorClass::shape: fail<ShapeError>(from, cause.text);
    case ErrorClass::argument: fail<ArgumentError>(from, cause.text);
    case ErrorClass::graph: fail<GraphError>(from, cause.text);
    case ErrorClass::timeout: fail<TimeoutError>(from, cause.text);
    case ErrorClass::peer_lost: fail<PeerLost>(from, cause.text);
    case ErrorClass::mismatch: fail<CollectiveMismatch>(from, cause.text);
    case ErrorClass::comm: fail<CommError>(from, cause.text);
    case ErrorClass::io: fail<IoError>(from, cause.text);
    case ErrorClass::error:
    case ErrorClass::other: break;
  }
  fail<Error>(from, cause.text);
}

// Where things lie in the region of a launch: the world, the world's group, one arena a rank.
template <class Policy>
struct Plan {
  int ranks;
  std::int64_t arena;

  std::int64_t group_at() const { return (World::bytes(ranks) + 4095) / 4096 * 4096; }
  std::int64_t arena_at(int rank) const {
    return (group_at() + Layout<Policy>(ranks).bytes() + granule - 1) / granule * granule + rank * arena;
  }
  std::int64_t bytes() const { return arena_at(ranks); }

  static constexpr std::int64_t granule = std::int64_t{1} << 21;
};

// Everything of a launch that its ranks see.
template <class Policy>
struct Stage {
  const LaunchOptions& options;
  Plan<Policy> plan;
  const Region& region;
  World* world;
  const Body& body;
  ThreadState state;  // of the thread that launches
  int processors;
};

// Called on a thread of its own: OpenMP runtimes do not work in the thread that was forked, when they ran before.
template <class Policy>
void run_rank(const Stage<Policy>& stage, int rank, int log) {
  World& world = *stage.world;
  Condition& status = world.status(rank);
  try {
    thread_state = stage.state;
    if (stage.options.pin) os::pin_to(rank);
    set_num_threads(stage.options.threads > 0 ? stage.options.threads : stage.processors / stage.plan.ranks);
    Arena arena(stage.region, stage.plan.arena_at(rank), stage.plan.arena);
    const Member member{&world, &stage.region, &arena, rank, stage.options.backend == Backend::threads, os::process_number(), log};
    std::vector<int> everybody(static_cast<std::size_t>(stage.plan.ranks));
    std::iota(everybody.begin(), everybody.end(), 0);
    std::string result;
    {
      Group<Policy> group(member, stage.region.base() + stage.plan.group_at(), std::move(everybody), rank, 0, stage.options.deadline);
      status.state.store(State::running, std::memory_order_release);
      result = stage.body(group);
    }
    std::byte* const bytes = static_cast<std::byte*>(arena.allocate(result.size() + 1));
    std::memcpy(bytes, result.data(), result.size());
    status.bytes.store(result.size(), std::memory_order_relaxed);
    status.result.store(static_cast<std::uint64_t>(bytes - stage.region.base()), std::memory_order_relaxed);
    status.state.store(State::finished, std::memory_order_release);
  } catch (...) {
    const Described error = describe_exception();
    Cause& cause = world.cause;
    const std::uint32_t self = static_cast<std::uint32_t>(rank) + 1;
    if (!cause.claim(self, Failure::threw, rank, error.error, error.text) && cause.claimed.load(std::memory_order_acquire) == self &&
        cause.failure.load(std::memory_order_acquire) == Failure::none)
      cause.write(Failure::threw, rank, error.error, error.text);  // it was claimed while the exception unwound
    status.state.store(State::failed, std::memory_order_release);
  }
  world.wake_all();
}

}  // namespace minitorch::comm
