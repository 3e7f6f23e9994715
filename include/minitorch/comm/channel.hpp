// What a set of ranks needs to run collectives: a rendezvous, staging memory, and the error of whoever waits in vain.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <thread>
#include <vector>

#include <minitorch/comm/arena.hpp>
#include <minitorch/comm/counters.hpp>
#include <minitorch/comm/rendezvous.hpp>
#include <minitorch/comm/shares.hpp>
#include <minitorch/comm/transfer.hpp>
#include <minitorch/comm/world.hpp>

namespace minitorch::comm {

// What a rank knows of its launch. One a rank, alive as long as its communicators.
struct Member {
  struct Block {  // of a group that this rank made room for
    std::byte* base;
    std::int64_t bytes;
  };

  World* world;
  const Region* region;
  Arena* arena;
  int rank;                             // in the launch
  bool all_visible;                     // ranks are threads: every address means the same to all
  std::int64_t process;                 // where the communicators may be used
  int log;                              // descriptor of its log
  mutable std::vector<Block> blocks{};  // given back when their groups have no member left
};

// Where a channel lives in shared memory.
template <class Policy>
struct Site {
  Gate<Policy>* gate;
  Line<Policy>* lines;  // two sets, one line a rank
  Shares<Policy>* shares;
  std::byte* staging;  // two buffers a rank
  std::int64_t chunk;  // bytes of a buffer for what a rank shows of its input
  std::int64_t sums;   // bytes after it for its share of a sum
};

template <class Policy>
class Channel {
 public:
  using Clock = std::chrono::steady_clock;

  Channel(const Member& member, const Site<Policy>& site, std::vector<int> members, int rank, std::uint32_t group,
          std::optional<Meeting> kind = {})
      : member_(&member),
        site_(site),
        policy_(&member.world->status(member.rank), member.rank),
        meeting_(site.gate, site.lines, rank, static_cast<int>(members.size()),
                 kind.value_or(member.world->crowded ? Meeting::counted : Meeting::flags)),
        members_(std::move(members)),
        views_(members_.size()),
        rank_(rank),
        group_(group),
        spins_(member.world->crowded ? yields : probe_spins) {
    policy_.is_crowded = member.world->crowded;
  }

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  const std::vector<int>& members() const { return members_; }
  const Member& member() const { return *member_; }
  Policy& policy() { return policy_; }
  bool crowded() const { return member_->world->crowded; }
  std::int64_t chunk() const { return site_.chunk; }
  std::uint64_t calls() const { return calls_; }  // entered so far

  // Begins a call: refuses it after an abort or in a foreign process, and says what this rank is doing.
  void enter(const Call& call, std::chrono::nanoseconds deadline) {
    if (os::process_number() != member_->process)
      fail<CommError>(name_of(call.verb), ": a communicator belongs to the process of its rank, which process ", os::process_number(),
                      " is not");
    print_ = fingerprint(call, group_, ++calls_);
    deadline_ = deadline;
    Condition& mine = status(rank_);
    for (std::size_t i = 0; i < 4; ++i) mine.print[i].store(print_.words[i], std::memory_order_relaxed);
    policy_.point(Point::entered);
    if (member_->world->cause.set()) give_in();
  }

  // The line to fill before the next meet(), and the lines of the peers after it.
  Line<Policy>& next() { return meeting_.next(); }
  Line<Policy>& peer(int rank) { return meeting_.peer(rank); }

  // Meets the others and returns the flags that judge() found: see Rendezvous. Throws on all ranks when their calls differ, and when
  // somebody is lost or late.
  template <class Judge>
  std::uint64_t meet(Judge&& judge) {
    next().print = print_;
    return wait([&](auto&& give_up) { return meeting_.meet(policy_, spins_, judge, give_up); });
  }
  void meet() {
    meet([] { return std::uint64_t{0}; });
  }
  // The two halves of a counted meeting: other things may be done between them, on other channels. See Rendezvous for work().
  template <class Judge>
  void begin(Judge&& judge) {
    next().print = print_;
    guarded([&] { meeting_.begin(policy_, judge); });
  }
  template <class Work>
  std::uint64_t end(Work&& work) {
    return wait([&](auto&& give_up) { return meeting_.end(policy_, spins_, work, give_up); });
  }
  template <class Work>
  void look(Work&& work) {
    guarded([&] { meeting_.look(policy_, work); });
  }
  bool over() const { return meeting_.over(); }
  Shares<Policy>& shares() { return *site_.shares; }

  // Work on memory of peers. Who leaves a failed call waits for it to end before the memory can be freed.
  template <class Body>
  void touching(Body&& body) {
    guarded([&] {
      Condition& mine = status(rank_);
      mine.busy.store(1, std::memory_order_seq_cst);
      policy_.point(Point::working);
      const bool gone = member_->world->cause.set();
      if (!gone) body();
      mine.busy.store(0, std::memory_order_release);
      policy_.point(Point::worked);
      if (gone) give_in();
    });
  }

  // An address as others know it; 0 when they cannot reach it. `first` is the index that lies at `pointer`.
  std::uintptr_t shared_origin(const void* pointer, Range indices, WireType type) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (!member_->all_visible) {
      const auto base = reinterpret_cast<std::uintptr_t>(member_->region->base());
      const auto end = base + static_cast<std::uintptr_t>(member_->region->size());
      if (address < base || address + static_cast<std::uintptr_t>(indices.size() * wire_size(type)) > end) return 0;
    }
    return address - static_cast<std::uintptr_t>(indices.first * wire_size(type));
  }
  // Shared memory is mapped before ranks are forked, but lines hold offsets all the same. They are odd, and may be negative.
  std::uint64_t to_place(std::uintptr_t origin) const {
    return origin == 0 ? 0 : static_cast<std::uint64_t>(origin - reinterpret_cast<std::uintptr_t>(member_->region->base())) << 1 | 1;
  }
  std::uintptr_t from_place(std::uint64_t place) const {
    if (place == 0) return 0;
    return static_cast<std::uintptr_t>(static_cast<std::int64_t>(place) >> 1) + reinterpret_cast<std::uintptr_t>(member_->region->base());
  }

  std::span<View> views() { return views_; }

  // Two staging buffers a rank, used in turn as lines are: what is written before a meeting is read between it and the next one.
  std::uintptr_t staging(int rank) const { return buffer(rank, meeting_.parity()); }
  std::uintptr_t sums(int rank) const { return staging(rank) + static_cast<std::uintptr_t>(site_.chunk); }
  std::uintptr_t next_sums() { return next_staging() + static_cast<std::uintptr_t>(site_.chunk); }
  std::uintptr_t next_staging() {
    const std::int64_t bytes = 2 * (site_.chunk + site_.sums);
    if (!staged_) member_->region->commit(site_.staging + rank_ * bytes - member_->region->base(), bytes);
    staged_ = true;
    return buffer(rank_, meeting_.parity() ^ 1);
  }

  // From here on waits are timed from their beginning, otherwise beyond the first spins: a small call does not take as long as two clocks.
  void time_waits(bool from_the_beginning) { times_waits_ = from_the_beginning; }
  std::chrono::nanoseconds take_waited() { return std::exchange(waited_, {}); }

 private:
  static constexpr std::uint32_t few_spins = 60, many_spins = 20000, probe_spins = 4000;
  static constexpr std::chrono::seconds patience{2};
  static constexpr std::uint32_t few_rests = 4, yields = 200;  // what sleeping and waking cost, when ranks outnumber processors

  std::uintptr_t buffer(int rank, int parity) const {
    return reinterpret_cast<std::uintptr_t>(site_.staging + (2 * rank + parity) * (site_.chunk + site_.sums));
  }

  Condition& status(int rank) const { return member_->world->status(members_[static_cast<std::size_t>(rank)]); }

  template <class Meet>
  std::uint64_t wait(Meet&& meet) {
    waiting_since_.reset();
    const auto arrived = times_waits_ ? Clock::now() : Clock::time_point{};
    const auto outcome = guarded([&] { return meet([this] { return give_up(); }); });
    if (times_waits_ || waiting_since_.has_value()) waited_ += Clock::now() - (times_waits_ ? arrived : *waiting_since_);
    adapt(waiting_since_.has_value());
    if (!outcome.committed) give_in();
    if ((outcome.flags & mismatched) != 0) disagree();
    return outcome.flags;
  }

  void adapt(bool slept) {
    if (crowded()) {
      // Yielding is for short waits on a machine that does nothing else; when it was in vain, a number of waits sleep at once.
      if (spins_ == 0)
        spins_ = --rest_ == 0 ? yields : 0;
      else if (slept)
        spins_ = 0, rest_ = rests_ = (std::min)(rests_ * 4, 8192u);
      else
        rests_ = (std::max)(few_rests, rests_ / 4);
      return;
    }
    // Two ranks that sleep once make each other sleep again, as a wake-up takes longer than few spins: now and then one tries more.
    if (slept)
      spins_ = ++sleeps_ % 128 == 0 ? probe_spins : (std::max)(few_spins, spins_ / 2);
    else
      spins_ = (std::min)(many_spins, spins_ * 2);
  }

  bool give_up() {
    World& world = *member_->world;
    const auto now = Clock::now();
    if (!waiting_since_.has_value()) waiting_since_ = now;
    if (world.cause.set()) return true;
    const auto claim = [&](Failure why, int who, ErrorClass error, const std::string& text) {
      if (world.cause.claim(static_cast<std::uint32_t>(member_->rank) + 1, why, who, error, text)) world.wake_all();
      return true;
    };
    for (int r = 0; r < size(); ++r) {
      const int id = members_[static_cast<std::size_t>(r)];
      // In this order: a rank arrives before it ends.
      if (status(r).state.load(std::memory_order_acquire) == State::finished && !meeting_.here(r))
        return claim(Failure::lost, id, ErrorClass::peer_lost, concat("rank ", id, " has finished and does not take part in ", print_));
    }
    if (deadline_ > deadline_.zero() && now - *waiting_since_ >= deadline_)
      return claim(Failure::timeout, member_->rank, ErrorClass::timeout,
                   concat(print_, " timed out after ", std::chrono::duration_cast<std::chrono::milliseconds>(now - *waiting_since_).count(),
                          " ms: ", missing()));
    policy_.limit_sleep(deadline_ > deadline_.zero() ? deadline_ - (now - *waiting_since_) : (std::chrono::nanoseconds::max)());
    return false;
  }

  // "rank 2 has not arrived (last in barrier, call 7)"
  std::string missing() {
    std::string text;
    for (int r = 0; r < size(); ++r) {
      if (meeting_.here(r)) continue;
      if (!text.empty()) text += ", ";
      text += concat("rank ", members_[static_cast<std::size_t>(r)], " has not arrived");
      const Condition& other = status(r);
      text += other.began() ? concat(" (last in ", other.last(), ")") : " (no call yet)";
    }
    return text.empty() ? "all ranks have arrived, the last one did not go on" : text;
  }

  // What peers can see: an exception that leaves it becomes the cause, and leaves when nobody touches this rank's memory any more.
  template <class Body>
  auto guarded(Body&& body) {
    try {
      return body();
    } catch (...) {
      World& world = *member_->world;
      status(rank_).busy.store(0, std::memory_order_release);
      const Described error = describe_exception();
      if (world.cause.claim(static_cast<std::uint32_t>(member_->rank) + 1, Failure::threw, member_->rank, error.error, error.text))
        world.wake_all();
      meeting_.abort(policy_);
      await_peers();
      throw;
    }
  }

  // After the cause is set: until no peer touches memory of others, or it is clear that one never will go on.
  void await_peers() {
    const auto until = Clock::now() + patience;
    for (int r = 0; r < size(); ++r) {
      const Condition& other = status(r);
      while (r != rank_ && other.busy.load(std::memory_order_seq_cst) != 0 &&
             other.state.load(std::memory_order_acquire) <= State::running && Clock::now() < until)
        std::this_thread::yield();
    }
  }

  // Throws what every survivor throws after an abort, when no peer touches this rank's memory any more.
  [[noreturn]] void give_in() {
    meeting_.abort(policy_);
    policy_.point(Point::leaving);
    await_peers();
    const auto until = Clock::now() + patience;
    const Cause& cause = member_->world->cause;
    Failure failure;
    const bool own = cause.claimed.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(member_->rank) + 1;
    while ((failure = cause.failure.load(std::memory_order_acquire)) == Failure::none && !own && Clock::now() < until)
      std::this_thread::yield();
    if (failure == Failure::timeout) fail<TimeoutError>(member_->rank == cause.rank ? "" : "a peer gave up: ", cause.text);
    if (failure == Failure::threw) fail<PeerLost>(print_, ": rank ", cause.rank, " failed: ", cause.text);
    if (failure == Failure::lost) fail<PeerLost>(print_, ": ", cause.text);
    fail<PeerLost>(print_, ": another rank failed");
  }

  [[noreturn]] void disagree() {
    for (int r = 1; r < size(); ++r)
      if (peer(r).print != peer(0).print)
        fail<CollectiveMismatch>("all ranks must make the same call, but rank ", members_[0], " made ", peer(0).print, " and rank ",
                                 members_[static_cast<std::size_t>(r)], " made ", peer(r).print);
    fail<CollectiveMismatch>(print_, ": buffers of two ranks overlap");
  }

  const Member* member_;
  Site<Policy> site_;
  Policy policy_;
  Rendezvous<Policy> meeting_;
  std::vector<int> members_;  // their ranks in the launch
  std::vector<View> views_;
  int rank_;
  std::uint32_t group_;
  Fingerprint print_;
  std::uint64_t calls_ = 0;
  std::chrono::nanoseconds deadline_{0}, waited_{0};
  std::optional<Clock::time_point> waiting_since_;
  std::uint32_t spins_, sleeps_ = 0, rest_ = 0, rests_ = few_rests;
  bool staged_ = false, times_waits_ = false;
};

}  // namespace minitorch::comm
