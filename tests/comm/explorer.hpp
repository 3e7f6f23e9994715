// An explicit-state explorer: runs the shipped protocol on every schedule of its ranks, one access to shared memory at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace explorer {

enum class Kind : std::uint64_t { load, store, add, swap, sleep, wake, choice };

struct Access {
  Kind kind;
  const void* word;
  std::uint64_t a = 0, b = 0;  // operands
  bool is_early = false;       // a load that may be taken as soon as its rank comes to it: see Mode
};

// How schedules are told apart.
enum class Mode {
  // Two are the same state when every rank was given the same answers. Nothing is assumed about the protocol: for two or three ranks.
  full,
  // Two are the same state when every rank has passed the same mark and is about to make the same access. Besides:
  //   a choice, and an access to a word of its own, is made at once: nobody else can tell when;
  //   a load that is no sequentially consistent one is made at once: a later one is like the compare-and-swap or the sleep that finds the
  //   word changed, and loads it again.
  reduced,
};

// What World::explore() found.
struct Found {
  std::string error;  // the first one; "" when every schedule is right
  std::size_t states = 0;
  std::size_t firm = 0;  // states, as reduced mode tells them apart, in which no rank is about to do what reduced mode does at once
};

// Depth-first over schedules, by running again from the start; what leads to a state that was seen is cut. A state is the shared bytes, the
// ranks, and what happens before what.
//   Full mode checks what reduced mode relies on: states that are the same for reduced mode lead, by the same step, to states that are the
//   same for it. And both must find the same number of firm states: then reduced mode has left out none, as all of its schedules are
//   schedules of full mode.
//   Accesses interleave sequentially; their memory orders are checked beside: a plain access that does not happen after the last write of
//   its cell is an error. Each rank, and each atomic that it releases to, knows a set of events: the last write of each cell and its last
//   read by each rank.
class World {
 public:
  static constexpr int max_ranks = 4;

  static World*& current() {
    static World* world = nullptr;
    return world;
  }

  // body(rank) runs in each of `ranks` fibers on `bytes` of memory that prepare() fills.
  World(int ranks, void* memory, std::size_t bytes, Mode mode, std::function<void()> prepare, std::function<void(int)> body)
      : ranks_(ranks),
        memory_(memory),
        bytes_(bytes),
        mode_(mode),
        prepare_(std::move(prepare)),
        body_(std::move(body)),
        stacks_(static_cast<std::size_t>(ranks)) {
    for (auto& s : stacks_) s.resize(1 << 16);
  }

  // Only one rank ever touches it; an error otherwise.
  void declare_own(const void* word) { own_.emplace(word, -1); }

  Found explore() {
    current() = this;
    while (once() && found_.error.empty()) {
    }
    current() = nullptr;
    found_.states = seen_.size();
    found_.firm = firm_.size();
    return found_;
  }

  // What fibers call. Before an access: somebody else may run.
  void step(const Access& access) {
    Fiber& f = fiber();
    f.next = mix(mix(mix(mix(mix(1, static_cast<std::uint64_t>(access.kind)), index_of(words_, access.word)), access.a), access.b),
                 access.is_early ? 1 : 0);
    const auto own = own_.find(access.word);
    if (own != own_.end())
      check(std::exchange(own->second, self_) == -1 || own->second == self_, "a word of one rank is touched by others");
    f.chooses = access.kind == Kind::choice;
    f.at_once = own != own_.end() || f.chooses || access.is_early;
    if (mode_ == Mode::full || f.chooses || !f.at_once) yield();
    f.at_once = f.chooses = false;
  }
  void answer(std::uint64_t value) {
    fiber().answer = value;
    fiber().history = mix(fiber().history, value);
  }
  // Where a rank's past matters only through `value`.
  void mark(std::uint64_t value) { fiber().mark = fiber().history = fiber().next = value; }
  void sleep_on(const void* word) {
    fiber().blocked = word;
    fiber().next = mix(fiber().next, 1);  // it has looked at the word
    yield();
  }
  void wake(const void* word, int most) {
    for (int r = 0; r < ranks_ && most > 0; ++r)
      if (fibers_[r].blocked == word) fibers_[r].blocked = nullptr, --most;
  }
  // A choice that is not a schedule: false first, then true, which marks the place.
  bool choose() {
    Fiber& f = fiber();
    const std::uint64_t place = f.next;
    step({Kind::choice, nullptr, place, f.answer});
    answer(f.chosen);
    if (f.chosen) f.mark = mix(f.mark, place);
    return f.chosen;
  }
  void check(bool condition, const char* what) {
    if (!condition && found_.error.empty()) found_.error = what;
  }
  bool running() const { return self_ >= 0; }
  int self() const { return self_; }

  void acquire(const void* word) { fiber().known |= carried_[index_of(words_, word)]; }
  // A read-modify-write keeps what the word carries.
  void release(const void* word, bool gives, bool keeps) {
    Events& events = carried_[index_of(words_, word)];
    if (!keeps) events.reset();
    if (gives) events |= fiber().known;
  }
  // A plain write or read. They need no schedule of their own: in a right program each is ordered with those that conflict with it.
  void write(const void* cell) {
    bool is_after = true;
    for (int r = -1; r < ranks_; ++r) is_after = is_after && is_known(event(cell, r));
    check(is_after, "a plain write races");
    for (int r = 0; r < ranks_; ++r) forget(event(cell, r));
    happens(event(cell, -1));
  }
  void read(const void* cell) {
    check(is_known(event(cell, -1)), "a plain read races");
    happens(event(cell, self_));
  }

 private:
  static constexpr std::size_t max_words = 24, max_cells = 24;
  using Events = std::bitset<max_cells*(max_ranks + 1)>;

  struct Fiber {
    ucontext_t context;
    std::uint64_t mark = 0, next = 0, answer = 0, history = 0;
    const void* blocked = nullptr;
    bool is_done = false, at_once = false, chooses = false, chosen = false;
    Events known{};
  };
  struct Choice {
    std::vector<int> options;  // rank, or rank + 100 for a choice that says true
    std::size_t taken = 0;
    std::uint64_t reduced = 0;
  };

  static std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
  }
  static std::size_t index_of(std::vector<const void*>& all, const void* which) {
    const auto at = std::find(all.begin(), all.end(), which);
    const auto index = static_cast<std::size_t>(at - all.begin());
    if (at == all.end()) all.push_back(which);
    return index;
  }
  // The last write of a cell (rank -1), or the last read of it by a rank.
  std::size_t event(const void* cell, int rank) { return index_of(cells_, cell) * (max_ranks + 1) + static_cast<std::size_t>(rank + 1); }
  bool is_known(std::size_t event) { return !happened_[event] || fiber().known[event]; }
  void forget(std::size_t event) {
    happened_[event] = false;
    for (int r = 0; r < ranks_; ++r) fibers_[r].known[event] = false;
    for (Events& events : carried_) events[event] = false;
  }
  void happens(std::size_t event) {
    forget(event);
    happened_[event] = fiber().known[event] = true;
  }

  Fiber& fiber() { return fibers_[self_]; }
  void yield() {
    fiber().history = mix(fiber().history, 1);  // it stands somewhere else
    swapcontext(&fiber().context, &main_);
  }
  void run(int rank) {
    self_ = rank;
    swapcontext(&main_, &fiber().context);
    self_ = -1;
  }

  static void enter() {
    World& world = *current();
    world.body_(world.self_);
    world.fiber().is_done = true;
    world.fiber().next = 0;
    world.yield();
  }

  std::uint64_t state(Mode mode) const {
    std::uint64_t h = 1;
    const auto* bytes = static_cast<const unsigned char*>(memory_);
    for (std::size_t i = 0; i + 8 <= bytes_; i += 8) {
      std::uint64_t v;
      std::memcpy(&v, bytes + i, 8);
      h = mix(h, v);
    }
    for (int r = 0; r < ranks_; ++r) {
      const Fiber& f = fibers_[r];
      h = mix(h, (f.blocked != nullptr ? 1u : 0u) | (f.is_done ? 2u : 0u));
      h = mix(mode == Mode::full ? mix(h, f.history) : mix(mix(h, f.mark), f.next), std::hash<Events>()(f.known));
    }
    for (const Events& events : carried_) h = mix(h, std::hash<Events>()(events));
    return mix(h, std::hash<Events>()(happened_));
  }

  // Every rank up to its first access.
  void begin() {
    for (Events& events : carried_) events.reset();
    happened_.reset();
    prepare_();
    for (int r = 0; r < ranks_; ++r) {
      fibers_[r] = Fiber{};
      getcontext(&fibers_[r].context);
      fibers_[r].context.uc_stack = {stacks_[static_cast<std::size_t>(r)].data(), 0, stacks_[static_cast<std::size_t>(r)].size()};
      makecontext(&fibers_[r].context, reinterpret_cast<void (*)()>(&enter), 0);
      run(r);
    }
  }

  // Where the run stands now; false when it is over or goes on like an earlier one.
  bool look() {
    Choice here;
    here.reduced = state(Mode::reduced);
    if (mode_ == Mode::full && !path_.empty()) confirm(path_.back(), here.reduced);
    if (std::none_of(fibers_, fibers_ + ranks_, [](const Fiber& f) { return f.at_once; })) firm_.insert(here.reduced);
    if (!seen_.insert(mode_ == Mode::full ? state(Mode::full) : here.reduced).second) return false;
    if (std::all_of(fibers_, fibers_ + ranks_, [](const Fiber& f) { return f.is_done; })) return false;
    for (int r = 0; r < ranks_; ++r) {
      const Fiber& f = fibers_[r];
      if (f.is_done || f.blocked != nullptr) continue;
      if (f.chooses && mode_ == Mode::reduced) here.options.clear();
      here.options.push_back(r);
      if (f.chooses) here.options.push_back(r + 100);
      if (f.chooses && mode_ == Mode::reduced) break;
    }
    check(!here.options.empty(), "everybody sleeps");
    if (here.options.empty()) return false;
    path_.push_back(std::move(here));
    return true;
  }

  // From states that reduced mode takes for one, the same step leads to such states.
  void confirm(const Choice& from, std::uint64_t to) {
    auto& steps = classes_[from.reduced];
    const int option = from.options[from.taken];
    for (const auto& [taken, led] : steps)
      if (taken == option) return check(led == to, "states that reduced mode takes for one differ in what follows");
    steps.emplace_back(option, to);
  }

  // One run along the path, and beyond it to the end or to a state that was seen. Returns false when nothing is left.
  bool once() {
    begin();
    for (std::size_t depth = 0; found_.error.empty(); ++depth) {
      if (depth == path_.size() && !look()) break;
      check(depth < 10000, "a run without end");
      const int option = path_[depth].options[path_[depth].taken];
      fibers_[option % 100].chosen = option >= 100;
      run(option % 100);
    }
    while (!path_.empty() && ++path_.back().taken == path_.back().options.size()) path_.pop_back();
    return !path_.empty();
  }

  int ranks_, self_ = -1;
  void* memory_;
  std::size_t bytes_;
  Mode mode_;
  std::function<void()> prepare_;
  std::function<void(int)> body_;
  std::vector<std::vector<char>> stacks_;
  Fiber fibers_[max_ranks];
  ucontext_t main_;
  std::vector<const void*> words_, cells_;
  std::unordered_map<const void*, int> own_;  // the rank that touches it
  Events carried_[max_words], happened_;
  std::unordered_set<std::uint64_t> seen_, firm_;
  std::unordered_map<std::uint64_t, std::vector<std::pair<int, std::uint64_t>>> classes_;
  std::vector<Choice> path_;
  Found found_;
};

}  // namespace explorer
