// What a communicator has done so far.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include <minitorch/comm/types.hpp>

namespace minitorch {

struct Counter {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;               // of the values computed, whoever receives them
  std::chrono::nanoseconds waiting{0};  // for peers who have not come yet or still move; of small calls beyond the first spins
  std::chrono::nanoseconds moving{0};   // in copies and sums of large calls, and of those that have begun
};

// By verb, of one communicator.
class Counters {
 public:
  Counter& operator[](comm::Verb verb) { return by_verb_[static_cast<std::size_t>(verb)]; }
  const Counter& operator[](comm::Verb verb) const { return by_verb_[static_cast<std::size_t>(verb)]; }

  Counter total() const {
    Counter all;
    for (const Counter& c : by_verb_) {
      all.calls += c.calls;
      all.bytes += c.bytes;
      all.waiting += c.waiting;
      all.moving += c.moving;
    }
    return all;
  }

 private:
  std::array<Counter, comm::verb_count> by_verb_{};
};

}  // namespace minitorch
