// What all ranks of a launch and their parent share: how each rank is doing, and the first cause when something went wrong.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include <minitorch/comm/call.hpp>
#include <minitorch/comm/gate.hpp>
#include <minitorch/comm/os.hpp>

namespace minitorch::comm {

enum class State : std::uint32_t { starting, running, finished, failed };

// One rank's line: written by the rank, read by its peers and its parent.
struct alignas(128) Condition {
  std::atomic<State> state{State::starting};
  std::atomic<std::uint32_t> busy{0};              // it reads or writes memory of its peers
  std::atomic<std::uint64_t> sleeping{0};          // address of the word it sleeps on
  std::atomic<std::uint64_t> print[4] = {};        // the last operation it began
  std::atomic<std::uint64_t> result{0}, bytes{0};  // what its function returned

  Fingerprint last() const {
    Fingerprint p;
    for (std::size_t i = 0; i < 4; ++i) p.words[i] = print[i].load(std::memory_order_relaxed);
    return p;
  }
  bool began() const { return print[0].load(std::memory_order_relaxed) != 0; }
};

enum class Failure : std::uint32_t { none, lost, timeout, threw };  // a rank died or ended early; a deadline passed; an exception

// The class of an exception, so that the parent can throw the same one.
enum class ErrorClass : std::uint32_t { other, error, shape, argument, graph, comm, timeout, peer_lost, mismatch, io };

struct Described {
  ErrorClass error;
  std::string text;
};

// Inside a catch block.
inline Described describe_exception() {
  const auto of = [](ErrorClass error, const std::exception& e) { return Described{error, e.what()}; };
  try {
    throw;
  } catch (const ShapeError& e) {
    return of(ErrorClass::shape, e);
  } catch (const ArgumentError& e) {
    return of(ErrorClass::argument, e);
  } catch (const GraphError& e) {
    return of(ErrorClass::graph, e);
  } catch (const TimeoutError& e) {
    return of(ErrorClass::timeout, e);
  } catch (const PeerLost& e) {
    return of(ErrorClass::peer_lost, e);
  } catch (const CollectiveMismatch& e) {
    return of(ErrorClass::mismatch, e);
  } catch (const CommError& e) {
    return of(ErrorClass::comm, e);
  } catch (const IoError& e) {
    return of(ErrorClass::io, e);
  } catch (const Error& e) {
    return of(ErrorClass::error, e);
  } catch (const std::exception& e) {
    return of(ErrorClass::other, e);
  } catch (...) {
    return {ErrorClass::other, "an exception that is no std::exception"};
  }
}

// The first cause. Whoever claims it writes it; everybody else reports it.
struct Cause {
  std::atomic<std::uint32_t> claimed{0};  // 1 + the rank that claimed it, ranks + 1 for the parent
  std::atomic<Failure> failure{Failure::none};
  std::int32_t rank = -1;
  ErrorClass error = ErrorClass::other;
  char text[2048] = "";

  // In one order with Condition::busy: a rank says that it is busy before it asks, and who leaves asks before it looks for busy ranks.
  bool set() const { return claimed.load(std::memory_order_seq_cst) != 0; }

  // Returns false when there was one already.
  bool claim(std::uint32_t who, Failure why, int of, ErrorClass which, std::string_view what) {
    std::uint32_t nobody = 0;
    if (!claimed.compare_exchange_strong(nobody, who, std::memory_order_seq_cst)) return false;
    write(why, of, which, what);
    return true;
  }
  void write(Failure why, int of, ErrorClass which, std::string_view what) {
    rank = of;
    error = which;
    const std::size_t size = (std::min)(what.size(), sizeof text - 1);
    std::memcpy(text, what.data(), size);
    text[size] = '\0';
    failure.store(why, std::memory_order_release);
  }
};

// At the start of the shared region; the ranks' lines follow.
struct alignas(128) World {
  std::int32_t ranks = 0;
  bool crowded = false;  // more ranks than processors: spinning only delays those who are waited for
  Cause cause;

  Condition& status(int rank) { return reinterpret_cast<Condition*>(this + 1)[rank]; }

  static World* create(void* memory, int ranks) {
    World* world = new (memory) World;
    world->ranks = ranks;
    for (int r = 0; r < ranks; ++r) new (&world->status(r)) Condition;
    return world;
  }
  static std::int64_t bytes(int ranks) {
    return static_cast<std::int64_t>(sizeof(World) + sizeof(Condition) * static_cast<std::size_t>(ranks));
  }

  // Wakes everybody who sleeps, so that they see the cause or a finished rank now and not at the end of their slice.
  void wake_all() {
    for (int r = 0; r < ranks; ++r)
      if (const std::uint64_t word = status(r).sleeping.load(std::memory_order_seq_cst); word != 0)
        os::futex_wake_all(reinterpret_cast<void*>(static_cast<std::uintptr_t>(word)));
  }
};

// The policy of real ranks: see Gate.
struct Native {
  template <class T>
  using atomic = std::atomic<T>;

  Native(Condition* own, int world_rank) : condition(own), rank(world_rank) {}

  Condition* condition;
  int rank;
  bool is_crowded = false;  // whoever it waits for may need its processor

  // Those that ranks may run on.
  static int processors() { return os::processors(); }

  // How long a sleep lasts before its sleeper looks around.
  static constexpr std::chrono::nanoseconds slice = std::chrono::milliseconds(50);
  std::chrono::nanoseconds next_sleep = slice;

  void point(Point) {}
  void limit_sleep(std::chrono::nanoseconds limit) { next_sleep = (std::min)(slice, limit); }
  // Returns whether to look again before sleeping. A yield that takes long has let strangers run, among whom who wakes up comes first.
  bool pause() {
    if (!is_crowded) return os::pause(), true;
    const auto began = std::chrono::steady_clock::now();
    os::yield();
    return std::chrono::steady_clock::now() - began < std::chrono::microseconds(100);
  }
  void sleep(std::atomic<std::uint64_t>& word, std::uint64_t from) {
    condition->sleeping.store(reinterpret_cast<std::uintptr_t>(&word), std::memory_order_seq_cst);
    os::futex_wait(&word, from, next_sleep);
    condition->sleeping.store(0, std::memory_order_relaxed);
  }
  void wake(std::atomic<std::uint64_t>& word) { os::futex_wake_all(&word); }
};

}  // namespace minitorch::comm
