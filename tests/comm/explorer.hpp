// An explicit-state explorer: runs the shipped protocol on every schedule of its ranks, one access to shared memory at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <minitorch/comm/gate.hpp>

namespace explorer {

// Depth-first over schedules, by running again from the start. A rank is deterministic, so its state is what its accesses returned: two
// runs that lead to the same shared bytes and the same answers for every rank go on alike, and the second is cut. Accesses interleave
// sequentially; their memory orders are checked by vector clocks: a plain access that does not happen after the last write is reported.
class World {
 public:
  static constexpr int max_ranks = 4;
  using Clock = std::array<std::uint32_t, max_ranks>;

  static World*& current() {
    static World* world = nullptr;
    return world;
  }

  // body(rank) runs in each of `ranks` fibers on `bytes` of memory that prepare() fills.
  World(int ranks, void* memory, std::size_t bytes, std::function<void()> prepare, std::function<void(int)> body)
      : ranks_(ranks),
        memory_(memory),
        bytes_(bytes),
        prepare_(std::move(prepare)),
        body_(std::move(body)),
        stacks_(static_cast<std::size_t>(ranks)) {
    for (auto& s : stacks_) s.resize(1 << 16);
  }

  // Returns the first error, or "" when every schedule is right.
  std::string explore() {
    current() = this;
    while (error_.empty() && once()) {
    }
    current() = nullptr;
    return error_;
  }
  std::size_t states() const { return seen_.size(); }

  // What fibers call. Before an access: somebody else may run.
  void step() {
    if (self_ >= 0) yield();
  }
  void answer(std::uint64_t value) {
    if (self_ >= 0) fiber().history = mix(fiber().history, value);
  }
  // Where a rank's past matters only through `value`.
  void mark(std::uint64_t value) { fiber().history = value; }
  void sleep_on(const void* word) {
    fiber().blocked = word;
    yield();
  }
  void wake(const void* word) {
    for (int r = 0; r < ranks_; ++r)
      if (fibers_[r].blocked == word) fibers_[r].blocked = nullptr;
  }
  // A choice that is not a schedule: false first, then true.
  bool choose() {
    fiber().choosing = true;
    yield();
    fiber().choosing = false;
    answer(fiber().chosen);
    return fiber().chosen;
  }
  void check(bool condition, const char* what) {
    if (!condition && error_.empty()) error_ = what;
  }
  void acquire(const void* word) { join(fiber().clock, clocks_[word]); }
  void release(const void* word, bool keeps) {
    ++fiber().clock[index()];
    Clock& clock = clocks_[word];
    if (!keeps) clock = {};
    join(clock, fiber().clock);
  }
  bool running() const { return self_ >= 0; }
  // A plain write or read. They need no schedule of their own: in a right program each is ordered with those that conflict with it.
  void write(const void* cell) {
    check(after(clocks_[cell]) && after(reads_[cell]), "a plain write races");
    clocks_[cell] = {};
    clocks_[cell][index()] = ++fiber().clock[index()];
  }
  void read(const void* cell) {
    check(after(clocks_[cell]), "a plain read races");
    reads_[cell][index()] = ++fiber().clock[index()];
  }

 private:
  struct Fiber {
    ucontext_t context;
    std::uint64_t history = 0;
    const void* blocked = nullptr;
    bool done = false, choosing = false, chosen = false;
    Clock clock{};
  };
  struct Choice {
    std::vector<int> options;  // rank, or rank + 100 for a choice that says true
    std::size_t taken = 0;
  };

  static std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
  }
  static void join(Clock& to, const Clock& from) {
    for (std::size_t i = 0; i < max_ranks; ++i) to[i] = (std::max)(to[i], from[i]);
  }
  bool after(const Clock& clock) {
    for (std::size_t i = 0; i < max_ranks; ++i)
      if (fiber().clock[i] < clock[i]) return false;
    return true;
  }
  Fiber& fiber() { return fibers_[self_]; }
  std::size_t index() const { return static_cast<std::size_t>(self_); }
  void yield() {
    fiber().history = mix(fiber().history, 1);  // it stands somewhere else
    swapcontext(&fiber().context, &main_);
  }

  static void enter() {
    World& world = *current();
    world.body_(world.self_);
    world.fiber().done = true;
    world.yield();
  }

  std::uint64_t hash() const {
    std::uint64_t h = 1;
    const auto* bytes = static_cast<const unsigned char*>(memory_);
    for (std::size_t i = 0; i + 8 <= bytes_; i += 8) {
      std::uint64_t v;
      std::memcpy(&v, bytes + i, 8);
      h = mix(h, v);
    }
    for (int r = 0; r < ranks_; ++r) {
      const Fiber& f = fibers_[r];
      h = mix(mix(h, f.history), (f.blocked != nullptr ? 1u : 0u) | (f.done ? 2u : 0u) | (f.choosing ? 4u : 0u));
    }
    return h;
  }

  // One run along the path, and beyond it to the end or to a state that was seen. Returns false when nothing is left.
  bool once() {
    self_ = -1;
    clocks_.clear();
    reads_.clear();
    prepare_();
    for (int r = 0; r < ranks_; ++r) {
      fibers_[r] = Fiber{};
      getcontext(&fibers_[r].context);
      fibers_[r].context.uc_stack = {stacks_[static_cast<std::size_t>(r)].data(), 0, stacks_[static_cast<std::size_t>(r)].size()};
      makecontext(&fibers_[r].context, reinterpret_cast<void (*)()>(&enter), 0);
    }
    for (std::size_t depth = 0; error_.empty(); ++depth) {
      if (depth == path_.size()) {
        if (!seen_.insert(hash()).second) break;
        Choice next;
        bool all_done = true;
        for (int r = 0; r < ranks_; ++r) {
          all_done = all_done && fibers_[r].done;
          if (fibers_[r].done || fibers_[r].blocked != nullptr) continue;
          next.options.push_back(r);
          if (fibers_[r].choosing) next.options.push_back(r + 100);
        }
        if (all_done) break;
        if (next.options.empty()) {
          error_ = "everybody sleeps";
          break;
        }
        path_.push_back(next);
      }
      const int option = path_[depth].options[path_[depth].taken];
      self_ = option % 100;
      fiber().chosen = option >= 100;
      swapcontext(&main_, &fiber().context);
      self_ = -1;
    }
    while (!path_.empty() && ++path_.back().taken == path_.back().options.size()) path_.pop_back();
    return !path_.empty();
  }

  int ranks_, self_ = -1;
  void* memory_;
  std::size_t bytes_;
  std::function<void()> prepare_;
  std::function<void(int)> body_;
  std::vector<std::vector<char>> stacks_;
  Fiber fibers_[max_ranks];
  ucontext_t main_;
  std::unordered_map<const void*, Clock> clocks_, reads_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<Choice> path_;
  std::string error_;
};

// A policy of the protocol.
struct Explored {
  static bool acquires(std::memory_order o) { return o != std::memory_order_relaxed && o != std::memory_order_release; }
  static bool releases(std::memory_order o) { return o != std::memory_order_relaxed && o != std::memory_order_acquire; }

  template <class T>
  struct atomic {
    T value;

    T load(std::memory_order order) const {
      return access(order, false, [&] { return value; });
    }
    void store(T to, std::memory_order order) {
      access(
          order, true, [&] { return value = to; }, false);
    }
    T fetch_add(T by, std::memory_order order) {
      return access(order, true, [&] { return std::exchange(value, static_cast<T>(value + by)); });
    }
    T fetch_sub(T by, std::memory_order order) { return fetch_add(static_cast<T>(0 - by), order); }
    bool compare_exchange_strong(T& expected, T to, std::memory_order order) {
      return access(order, true, [&] {
        const bool same = value == expected;
        (same ? value : expected) = same ? to : value;
        return same;
      });
    }

   private:
    template <class F>
    auto access(std::memory_order order, bool writes, F f, bool keeps = true) const {
      World* const world = World::current();
      if (world == nullptr || !world->running()) return f();
      world->step();
      if (acquires(order)) world->acquire(this);
      const auto result = f();
      if (writes && releases(order)) world->release(this, keeps);
      world->answer(static_cast<std::uint64_t>(result));
      return result;
    }
  };

  void point(minitorch::comm::Point) {}
  void pause() {}
  void sleep(atomic<std::uint64_t>& word, std::uint64_t from) {
    World& world = *World::current();
    world.step();
    if (word.value == from) world.sleep_on(&word);
  }
  void wake(atomic<std::uint64_t>& word) {
    World::current()->step();
    if (wakes) World::current()->wake(&word);
  }

  bool wakes = true;
};

}  // namespace explorer
