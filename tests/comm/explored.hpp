// The policy under which the protocol is explored, and the mistakes that can be planted into it.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include <minitorch/comm/point.hpp>

#include "tests/comm/explorer.hpp"

namespace explorer {

// What is wrong with the atomics: each does what the protocol would do if somebody had forgotten a line of it.
enum class Bug {
  none,
  no_wake,       // nobody is woken
  wakes_one,     // one sleeper is woken, not all
  blind_sleep,   // who sleeps does not look at the word again
  lost_swap,     // a compare-and-swap of rank 1 says that it has happened, and has not
  blind_swap,    // compare-and-swap does not compare
  torn_add,      // an addition is a load and a store
  weak_load,     // what only reads acquires nothing
  weak_release,  // nothing is released
};

struct Explored {
  static inline Bug bug = Bug::none;

  template <class T>
  struct atomic {
    T value;

    T load(std::memory_order order) const {
      return access({Kind::load, this, 0, 0, order != std::memory_order_seq_cst}, order, [&] { return value; });
    }
    void store(T to, std::memory_order order) {
      access({Kind::store, this, to}, order, [&] { return value = to; });
    }
    T fetch_add(T by, std::memory_order order) {
      if (bug == Bug::torn_add) {
        const T was = load(std::memory_order_seq_cst);
        store(static_cast<T>(was + by), std::memory_order_seq_cst);
        return was;
      }
      return access({Kind::add, this, by}, order, [&] { return std::exchange(value, static_cast<T>(value + by)); });
    }
    T fetch_sub(T by, std::memory_order order) { return fetch_add(static_cast<T>(0 - by), order); }
    bool compare_exchange_strong(T& expected, T to, std::memory_order order) {
      const T wished = expected;
      const T found = access({Kind::swap, this, wished, to}, order, [&] {
        if (bug == Bug::blind_swap) return value = to, wished;
        // But for the mark of who sleeps, without which it would look again and again.
        const bool is_lost = bug == Bug::lost_swap && World::current()->self() == 1 && (to & 1) == 0;
        return value != wished || is_lost ? value : std::exchange(value, to);
      });
      expected = found;
      return found == wished;
    }

   private:
    template <class F>
    T access(const Access& what, std::memory_order order, F f) const {
      World* const world = World::current();
      if (world == nullptr || !world->running()) return f();
      world->step(what);
      const T result = f();
      const bool writes = what.kind != Kind::load && (what.kind != Kind::swap || static_cast<std::uint64_t>(result) == what.a);
      const bool acquires = order != std::memory_order_relaxed && order != std::memory_order_release && what.kind != Kind::store;
      const bool releases = order != std::memory_order_relaxed && order != std::memory_order_acquire && bug != Bug::weak_release;
      if (acquires && (writes || bug != Bug::weak_load)) world->acquire(this);
      if (writes) world->release(this, releases, what.kind != Kind::store);
      world->answer(static_cast<std::uint64_t>(result));
      return result;
    }
  };

  void point(minitorch::comm::Point) {}
  bool pause() { return true; }
  void sleep(atomic<std::uint64_t>& word, std::uint64_t from) {
    World& world = *World::current();
    world.step({Kind::sleep, &word, from});
    if (word.value == from || bug == Bug::blind_sleep) world.sleep_on(&word);
    world.answer(0);
  }
  void wake(atomic<std::uint64_t>& word) {
    World& world = *World::current();
    world.step({Kind::wake, &word});
    if (bug != Bug::no_wake) world.wake(&word, bug == Bug::wakes_one ? 1 : World::max_ranks);
    world.answer(0);
  }
};

}  // namespace explorer
