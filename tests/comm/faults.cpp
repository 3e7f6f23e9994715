// The fault campaign: something happens to one rank at each point of the protocol, and every promise holds.
// SPDX-License-Identifier: MIT
#include "tests/comm/ranks.hpp"

#include <cstdlib>
#include <thread>

#include "tests/catch.hpp"

using namespace ranks;
using mt::comm::Point;

namespace {

enum class Action { throws, exits, dies, stops, sleeps };

struct Fault {
  int rank;
  Point point;
  int visit;  // which time the rank passes the point
  Action action;
};

Fault fault;                  // set before the ranks are forked
int processors = 0;           // as ranks see it: fewer than ranks make them meet counted
thread_local int visits = 0;  // each rank has a thread of its own
thread_local bool is_armed = false;

// How often a fault has happened at each point, in memory that ranks share.
std::atomic<int>* happened() {
  static auto* const counts = static_cast<std::atomic<int>*>(
      mmap(nullptr, sizeof(std::atomic<int>) * mt::comm::point_count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return counts;
}

// The policy of real ranks, and the fault.
struct Faulty : mt::comm::Native {
  using Native::Native;

  static int processors() { return ::processors; }

  void point(Point here) {
    if (!is_armed) return;
    // Whoever leaves a call needs a reason.
    if (fault.point == Point::leaving && rank == (fault.rank == 0 ? 1 : 0) && here == Point::entered && visits++ == 2) _exit(3);
    if (rank != fault.rank || here != fault.point || visits++ != fault.visit) return;
    is_armed = false;
    ++happened()[static_cast<int>(here)];
    switch (fault.action) {
      case Action::throws: throw mt::GraphError("injected");
      case Action::exits: _exit(3);
      case Action::dies: raise(SIGKILL); return;
      case Action::stops: raise(SIGSTOP); return;
      case Action::sleeps: std::this_thread::sleep_for(5ms); return;
    }
  }
};

// Every algorithm, twice, armed; then one call that notices whoever is missing. Results are right or never seen.
void everything(mt::Communicator& comm) {
  visits = 0;
  is_armed = true;
  const float n = static_cast<float>(comm.size());
  for (int round = 0; round < 2; ++round) {
    comm.barrier();
    for (const std::size_t count : {2u, 500u, 40000u}) {
      std::vector<float> x(count, 1.0f);
      comm.all_reduce(x);
      require(x[0] == n && x[count - 1] == n, "a sum in private memory");
      std::pmr::vector<float> shared(count, 1.0f, comm.memory());
      const mt::Work work = comm.start_all_reduce(shared);
      comm.broadcast(x, 0);
      require(x[count - 1] == n, "a broadcast");
    }
    std::pmr::vector<float> shared(20000, 1.0f, comm.memory());
    comm.all_reduce(shared);
    require(shared[0] == n && shared[19999] == n, "a sum in shared memory");
  }
  is_armed = false;
  comm.barrier();
}

void run(mt::Backend backend, int n, const Fault& what) {
  fault = what;
  INFO("rank " << what.rank << " of " << n << ", point " << static_cast<int>(what.point) << ", visit " << what.visit << ", action "
               << static_cast<int>(what.action));
  const bool is_second = what.point == Point::leaving;  // another rank has exited before
  const Traces before;
  const auto began = std::chrono::steady_clock::now();
  std::string error;
  try {
    mt::comm::launch_with<Faulty>(
        {.backend = backend, .deadline = what.action == Action::stops && !is_second ? 60ms : 20s, .grace = 30ms, .arena = 4 << 20}, n,
        everything);
  } catch (const mt::GraphError& e) {
    error = e.what();
    CHECK((what.action == Action::throws && !is_second));
    CHECK(error == mt::concat("launch: rank ", what.rank, ": injected"));
  } catch (const mt::PeerLost& e) {
    error = e.what();
    CHECK((is_second || what.action == Action::exits || what.action == Action::dies));
    const int lost = is_second ? (what.rank == 0 ? 1 : 0) : what.rank;
    const bool exited = is_second || what.action == Action::exits;
    CHECK_THAT(error, Catch::StartsWith(mt::concat("launch: rank ", lost, exited ? " exited with status 3" : " was killed by signal 9")));
  } catch (const mt::TimeoutError& e) {
    error = e.what();
    CHECK((what.action == Action::stops && !is_second));
    CHECK_THAT(error, Catch::Contains("timed out after"));
  }
  if (what.action == Action::sleeps && !is_second) CHECK(error.empty());
  if (is_second) CHECK_FALSE(error.empty());
  CHECK(std::chrono::steady_clock::now() - began < 4s);
  CHECK(before.only());
  CHECK(Traces::no_children());
}

}  // namespace

// With flags and counted. MINITORCH_CAMPAIGN=k visits each point k times as often and adds five ranks: what scripts/check runs.
TEST_CASE("P-02 whatever happens to a rank at any point of the protocol, all others end with the first cause and nothing remains") {
  const char* const wish = std::getenv("MINITORCH_CAMPAIGN");
  const int scale = wish != nullptr ? std::atoi(wish) : 1;
  const Action actions[] = {Action::throws, Action::exits, Action::dies, Action::stops, Action::sleeps};
  for (int n : {2, 3, 5})
    for (bool counted : {false, true}) {
      if (n == 5 && scale == 1) continue;
      processors = counted ? 1 : n;
      for (int point = 0; point < mt::comm::point_count; ++point)
        for (Action action : actions)
          for (int k = 0; k < scale; ++k) {
            const bool is_second = static_cast<Point>(point) == Point::leaving;  // nobody leaves twice
            const int rank = (point + static_cast<int>(action) + k) % n, visit = is_second ? 0 : k == 0 ? point % 4 : k - 1;
            run(mt::Backend::shm, n, {rank, static_cast<Point>(point), visit, action});
            if ((action == Action::throws || action == Action::sleeps) && !is_second)
              run(mt::Backend::threads, n, {rank, static_cast<Point>(point), visit, action});
          }
    }
  for (int point = 0; point < mt::comm::point_count; ++point) {
    INFO("point " << point);
    CHECK(happened()[point] > 0);
  }
}

TEST_CASE("a fault that nothing reaches changes nothing") {
  fault = {0, Point::entered, 1000000, Action::dies};
  processors = 2;
  mt::comm::launch_with<Faulty>({}, 2, everything);
}
