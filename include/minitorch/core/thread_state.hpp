// What a thread carries through the library: grad mode, anomaly mode and its place in the random stream. launch() hands it to ranks.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

namespace minitorch {

// Where this thread's samples lie in the whole batch: dropout draws the numbers of the whole. A total of 0: they are the whole.
struct BatchPlace {
  std::int64_t first = 0, local = 0, total = 0;
};

struct ThreadState {
  bool grad_enabled = true;
  bool anomaly_mode = false;
  bool in_recompute = false;
  std::uint64_t seed = 0;         // key of the counter-based generator
  std::uint64_t next_stream = 0;  // each random operation takes one stream
  BatchPlace batch;
  std::uint64_t collectives = 0;  // collectives called so far: a region that communicated runs again to its end
};

inline constinit thread_local ThreadState thread_state;

// Starts the calling thread's random numbers anew: the same seed gives the same numbers.
inline void manual_seed(std::uint64_t seed) {
  thread_state.seed = seed;
  thread_state.next_stream = 0;
}

// Sets a member of the thread's state for a scope, and puts the old value back however the scope ends.
template <auto Member>
class Scoped {
 public:
  using Value = std::remove_reference_t<decltype(thread_state.*Member)>;
  explicit Scoped(Value value) : old_(thread_state.*Member) { thread_state.*Member = value; }
  ~Scoped() { thread_state.*Member = old_; }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  Value old_;
};

}  // namespace minitorch
