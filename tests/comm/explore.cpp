// The protocol on every schedule of two to four ranks: no lost wake-up, no torn line, one outcome for all.
// SPDX-License-Identifier: MIT
#include "tests/comm/explorer.hpp"

#include <cstdlib>

#include <minitorch/comm/rendezvous.hpp>

#include "tests/catch.hpp"

using explorer::Explored;
using explorer::World;
namespace comm = minitorch::comm;

namespace {

// All that ranks share: also what tests of agreement write down.
struct Shared {
  comm::Gate<Explored> gate;
  comm::Line<Explored> lines[2 * World::max_ranks];
  std::uint64_t staging[2][World::max_ranks];
  std::uint8_t committed[8], aborted[8];  // by epoch: whether some rank saw it so
};

struct Case {
  comm::Meeting kind;
  int ranks, epochs;
  bool gives_up = false;  // whoever waits may abort
  int buffers = 2;        // staging buffers a rank
  bool wakes = true;
  int odd = -1;  // the epoch in which rank 1 calls something else
  std::uint64_t first = 0;
};

std::uint64_t value(int rank, std::uint64_t epoch) { return epoch * 16 + static_cast<std::uint64_t>(rank) + 1; }

std::string explore(const Case& c, std::size_t* states = nullptr) {
  static Shared shared;
  const auto prepare = [&] {
    std::memset(static_cast<void*>(&shared), 0, sizeof shared);
    shared.gate.open(c.first, static_cast<std::uint32_t>(c.ranks));
  };
  const auto body = [&](int rank) {
    World& world = *World::current();
    Explored policy{c.wakes};
    comm::Rendezvous<Explored> meeting(&shared.gate, shared.lines, rank, c.ranks, c.kind);
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
      const auto outcome = meeting.meet(
          policy, 0,
          [&] {
            judged = true;
            return comm::completed;
          },
          [&] { return c.gives_up && world.choose(); });
      (outcome.committed ? shared.committed : shared.aborted)[e] = 1;
      world.check(!(shared.committed[e] && shared.aborted[e]), "one rank committed what another one aborted");
      if (!outcome.committed) return meeting.abort(policy);
      world.check((outcome.flags == comm::mismatched) == (c.odd == e), "ranks disagree about a mismatch");
      world.check(judged ? outcome.flags == comm::completed : true, "a judgement without its flag");
      for (int r = 0; r < c.ranks; ++r) {
        world.read(&staging[r]);
        world.check(staging[r] == value(r, epoch), "a staging buffer was overwritten");
        world.read(&meeting.peer(r).place.in);
        world.check(meeting.peer(r).place.in == value(r, epoch), "a line was overwritten");
      }
      world.mark(epoch * 8 + outcome.flags);
    }
  };
  World world(c.ranks, &shared, sizeof shared, prepare, body);
  const std::string error = world.explore();
  if (states != nullptr) *states = world.states();
  return error;
}

constexpr comm::Meeting flags = comm::Meeting::flags, counted = comm::Meeting::counted;

void check_all(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    std::size_t states = 0;
    CHECK(explore(c, &states) == "");
    INFO(c.ranks << " ranks, " << c.epochs << " epochs, " << (c.kind == flags ? "flags: " : "counted: ") << states << " states");
    CHECK(states > 50);
  }
}

}  // namespace

// The lower halves of the words, on which a futex sleeps, wrap around at 2^29 and 2^30 epochs.
TEST_CASE("every schedule of a meeting is right, with flags and counted: who gives up, who calls something else, epochs that wrap") {
  check_all({{.kind = flags, .ranks = 2, .epochs = 4},
             {.kind = flags, .ranks = 2, .epochs = 3, .gives_up = true},
             {.kind = flags, .ranks = 2, .epochs = 3, .odd = 2},
             {.kind = flags, .ranks = 2, .epochs = 3, .first = (std::uint64_t{1} << 30) - 2},
             {.kind = flags, .ranks = 3, .epochs = 1},
             {.kind = counted, .ranks = 2, .epochs = 4},
             {.kind = counted, .ranks = 2, .epochs = 3, .gives_up = true},
             {.kind = counted, .ranks = 2, .epochs = 3, .odd = 2},
             {.kind = counted, .ranks = 2, .epochs = 3, .first = (std::uint64_t{1} << 29) - 2},
             {.kind = counted, .ranks = 3, .epochs = 1},
             {.kind = counted, .ranks = 3, .epochs = 1, .gives_up = true}});
}

TEST_CASE("every schedule of more ranks is right: minutes, so only with MINITORCH_CAMPAIGN, as scripts/check runs it") {
  if (std::getenv("MINITORCH_CAMPAIGN") == nullptr) return;
  check_all({{.kind = flags, .ranks = 3, .epochs = 2},
             {.kind = flags, .ranks = 3, .epochs = 1, .gives_up = true},
             {.kind = flags, .ranks = 4, .epochs = 1},
             {.kind = counted, .ranks = 3, .epochs = 2},
             {.kind = counted, .ranks = 3, .epochs = 2, .gives_up = true},
             {.kind = counted, .ranks = 4, .epochs = 1}});
}

TEST_CASE("the explorer finds what is wrong: one staging buffer, a missing wake-up") {
  for (comm::Meeting kind : {flags, counted}) {
    CHECK(explore({.kind = kind, .ranks = 2, .epochs = 3, .buffers = 1}) != "");
    CHECK(explore({.kind = kind, .ranks = 2, .epochs = 1, .wakes = false}) == "everybody sleeps");
  }
}
