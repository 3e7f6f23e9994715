// The protocol on every schedule of two to four ranks: no lost wake-up, no torn line, one outcome for all.
// SPDX-License-Identifier: MIT
#include "tests/comm/explored.hpp"

#include <cstdlib>
#include <iterator>

#include <minitorch/comm/rendezvous.hpp>
#include <minitorch/comm/shares.hpp>
#include <minitorch/core/text.hpp>

#include "tests/catch.hpp"

using explorer::Bug;
using explorer::Explored;
using explorer::Found;
using explorer::Mode;
using explorer::World;
namespace comm = minitorch::comm;

namespace {

// All that ranks share: also what tests of agreement write down.
struct Shared {
  comm::Gate<Explored> gate;
  comm::Line<Explored> lines[2 * World::max_ranks];
  std::uint64_t staging[2][World::max_ranks];
  comm::Shares<Explored> shares;
  std::uint64_t results[4];               // one a part of shared work
  std::uint8_t committed[8], aborted[8];  // by epoch: whether some rank saw it so
};

struct Case {
  comm::Meeting kind;
  int ranks, epochs;
  bool gives_up = false;  // whoever waits may abort
  int buffers = 2;        // staging buffers a rank
  int odd = -1;           // the epoch in which rank 1 calls something else
  std::uint64_t first = 0;
  int parts = 0;       // of work that all share
  bool looks = false;  // at offered work before it waits
};

std::uint64_t value(int rank, std::uint64_t epoch) { return epoch * 16 + static_cast<std::uint64_t>(rank) + 1; }

Found explore(const Case& c, Mode mode = Mode::reduced) {
  static Shared shared;
  const auto prepare = [&] {
    std::memset(static_cast<void*>(&shared), 0, sizeof shared);
    shared.gate.open(c.first, static_cast<std::uint32_t>(c.ranks));
  };
  const auto body = [&](int rank) {
    World& world = *World::current();
    Explored policy;
    comm::Rendezvous<Explored> meeting(&shared.gate, shared.lines, rank, c.ranks, c.kind);
    world.mark(1);
    for (int e = 1; e <= c.epochs; ++e) {
      const std::uint64_t epoch = c.first + static_cast<std::uint64_t>(e);
      // What a small collective does: show a copy, meet, read everybody's.
      std::uint64_t* const staging = shared.staging[e % c.buffers];
      world.write(&staging[rank]);
      staging[rank] = value(rank, epoch);
      auto& line = meeting.next();
      world.write(&line.place.in);
      line.place.in = value(rank, epoch);
      line.print.words[0] = c.odd == e && rank == 1 ? 9 : epoch;
      bool judged = false;
      const auto count = static_cast<std::uint64_t>(c.parts);
      bool has_looked = false;
      const auto work = [&] {
        bool was_last = false;
        const auto here = [&](std::uint64_t place) { world.mark(((epoch * 2 + was_last) * 2 + has_looked) * 32 + 16 + place); };
        here(1);
        for (std::uint64_t part; !was_last && (part = shared.shares.take(epoch, count)) < count;) {
          world.write(&shared.results[part]);
          shared.results[part] = epoch * 8 + part;
          here(2);
          was_last = shared.shares.finish(count);
          here(3);
        }
        here(4);
        return was_last;
      };
      const auto judge = [&] {
        judged = true;
        if (c.parts > 0) shared.shares.open(epoch);
        return c.parts > 0 ? comm::offered : comm::completed;
      };
      const auto give_up = [&] { return c.gives_up && world.choose(); };
      const auto outcome = [&] {
        if (c.parts == 0) return meeting.meet(policy, 0, judge, give_up);
        meeting.begin(policy, judge);
        if (c.looks) meeting.look(policy, work), has_looked = true;
        return meeting.end(policy, 0, work, give_up);
      }();
      (outcome.committed ? shared.committed : shared.aborted)[e] = 1;
      world.check(!(shared.committed[e] && shared.aborted[e]), "one rank committed what another one aborted");
      if (!outcome.committed) {
        world.mark(epoch * 8 + 7);
        return meeting.abort(policy);
      }
      world.check((outcome.flags == comm::mismatched) == (c.odd == e), "ranks disagree about a mismatch");
      world.check(judged ? outcome.flags == comm::completed : true, "a judgement without its flag");
      for (int part = 0; part < c.parts && outcome.flags == comm::completed; ++part) {
        world.read(&shared.results[part]);
        world.check(shared.results[part] == epoch * 8 + static_cast<std::uint64_t>(part), "a part is not done");
      }
      for (int r = 0; r < c.ranks; ++r) {
        world.read(&staging[r]);
        world.check(staging[r] == value(r, epoch), "a staging buffer was overwritten");
        world.read(&meeting.peer(r).place.in);
        world.check(meeting.peer(r).place.in == value(r, epoch), "a line was overwritten");
      }
      world.mark(epoch * 8 + outcome.flags);
    }
  };
  World world(c.ranks, &shared, sizeof shared, mode, prepare, body);
  if (c.kind == comm::Meeting::counted)  // nobody waits for the flags
    for (const auto& line : shared.lines) world.declare_own(&line.flag);
  return world.explore();
}

constexpr comm::Meeting flags = comm::Meeting::flags, counted = comm::Meeting::counted;

std::string text(const Case& c) {
  return minitorch::concat(c.kind == flags ? "flags, " : "counted, ", c.ranks, " ranks, ", c.epochs, " epochs",
                           c.gives_up ? ", gives up" : "", c.first > 0 ? ", wraps" : "", c.odd > 0 ? ", a mismatch" : "",
                           c.parts > 0 ? ", shared work" : "", c.looks ? ", looked at" : "");
}

void check_all(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    INFO(text(c));
    const Found found = explore(c);
    CHECK(found.error == "");
    CHECK(found.states > 30);
  }
}

// The lower halves of the words, on which a futex sleeps, wrap around at 2^28 and 2^30 epochs. Lines and staging are used again in the
// third.
const Case few[] = {{.kind = flags, .ranks = 2, .epochs = 4},
                    {.kind = flags, .ranks = 2, .epochs = 3, .gives_up = true},
                    {.kind = flags, .ranks = 2, .epochs = 3, .odd = 2},
                    {.kind = flags, .ranks = 2, .epochs = 3, .first = (std::uint64_t{1} << 30) - 2},
                    {.kind = flags, .ranks = 3, .epochs = 1},
                    {.kind = counted, .ranks = 2, .epochs = 4},
                    {.kind = counted, .ranks = 2, .epochs = 3, .gives_up = true},
                    {.kind = counted, .ranks = 2, .epochs = 3, .odd = 2},
                    {.kind = counted, .ranks = 2, .epochs = 3, .first = (std::uint64_t{1} << 28) - 2},
                    {.kind = counted, .ranks = 3, .epochs = 1},
                    {.kind = counted, .ranks = 2, .epochs = 2, .parts = 2},
                    {.kind = counted, .ranks = 2, .epochs = 2, .parts = 2, .looks = true},
                    {.kind = counted, .ranks = 2, .epochs = 2, .gives_up = true, .parts = 2},
                    {.kind = counted, .ranks = 2, .epochs = 2, .odd = 2, .parts = 2}};

}  // namespace

TEST_CASE(
    "every schedule of two and three ranks is right, with flags and counted: who gives up, who calls something else, epochs that wrap") {
  check_all({std::begin(few), std::end(few)});
  check_all({{.kind = flags, .ranks = 3, .epochs = 3},
             {.kind = flags, .ranks = 3, .epochs = 1, .gives_up = true},
             {.kind = counted, .ranks = 3, .epochs = 2},
             {.kind = counted, .ranks = 3, .epochs = 1, .gives_up = true}});
}

TEST_CASE("every schedule of four ranks is right: a minute or two, so only with MINITORCH_CAMPAIGN, as scripts/check runs it") {
  if (std::getenv("MINITORCH_CAMPAIGN") == nullptr) return;
  check_all({{.kind = flags, .ranks = 4, .epochs = 3},
             {.kind = flags, .ranks = 3, .epochs = 2, .gives_up = true},
             {.kind = flags, .ranks = 4, .epochs = 1, .gives_up = true},
             {.kind = counted, .ranks = 3, .epochs = 3},
             {.kind = counted, .ranks = 3, .epochs = 2, .gives_up = true},
             {.kind = counted, .ranks = 4, .epochs = 1},
             {.kind = counted, .ranks = 3, .epochs = 1, .parts = 2},
             {.kind = counted, .ranks = 3, .epochs = 1, .gives_up = true, .parts = 2}});
}

TEST_CASE("what reduced exploration leaves out leads nowhere else: full exploration finds the same states") {
  std::vector<Case> cases(std::begin(few), std::end(few));
  if (std::getenv("MINITORCH_CAMPAIGN") != nullptr) {
    cases.push_back({.kind = flags, .ranks = 3, .epochs = 2});
    cases.push_back({.kind = flags, .ranks = 3, .epochs = 1, .gives_up = true});
    cases.push_back({.kind = counted, .ranks = 3, .epochs = 1, .gives_up = true});
    cases.push_back({.kind = counted, .ranks = 3, .epochs = 2});
  }
  for (const Case& c : cases) {
    INFO(text(c));
    const Found full = explore(c, Mode::full), reduced = explore(c);
    CHECK(full.error == "");
    CHECK(full.firm == reduced.firm);
    CHECK(full.states > reduced.states);
  }
}

// With three ranks one may be woken and another one not; with two there are more epochs.
TEST_CASE("planted mistakes are found, by reduced exploration wherever full exploration finds them") {
  struct Planted {
    Bug bug;
    bool in_flags, in_counted;
  };
  for (const auto& [bug, in_flags, in_counted] : {Planted{Bug::no_wake, true, true},
                                                  {Bug::wakes_one, true, true},
                                                  {Bug::blind_sleep, true, true},
                                                  {Bug::lost_swap, true, true},
                                                  {Bug::blind_swap, true, true},
                                                  {Bug::torn_add, false, true},
                                                  {Bug::weak_load, true, true},
                                                  {Bug::weak_release, true, true}})
    for (comm::Meeting kind : {flags, counted}) {
      bool is_found = false;
      for (const Case& c : {Case{.kind = kind, .ranks = 2, .epochs = 3}, Case{.kind = kind, .ranks = 2, .epochs = 2, .gives_up = true},
                            Case{.kind = kind, .ranks = 3, .epochs = 1}}) {
        INFO(text(c) << ", mistake " << static_cast<int>(bug));
        Explored::bug = bug;
        const Found full = explore(c, Mode::full), reduced = explore(c);
        Explored::bug = Bug::none;
        CHECK((full.error == "") == (reduced.error == ""));
        is_found = is_found || reduced.error != "";
      }
      INFO("mistake " << static_cast<int>(bug) << (kind == flags ? " with flags" : " counted"));
      CHECK(is_found == (kind == flags ? in_flags : in_counted));
    }
  for (comm::Meeting kind : {flags, counted})
    for (Mode mode : {Mode::full, Mode::reduced})
      CHECK(explore({.kind = kind, .ranks = 2, .epochs = 3, .buffers = 1}, mode).error != "");  // one staging buffer is not enough
}
