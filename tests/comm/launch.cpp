// launch: results, first causes, and nothing left behind.
// SPDX-License-Identifier: MIT
#include "tests/comm/ranks.hpp"

#include <thread>

#include "tests/catch.hpp"

using namespace ranks;

TEST_CASE("launch returns one result a rank: numbers, strings, vectors of them", "[comm]") {
  for (mt::Backend backend : backends()) {
    const mt::LaunchOptions options{.backend = backend};
    CHECK(mt::launch(options, 3, [](mt::Communicator& comm) { return comm.rank() * 10 + comm.size(); }) == std::vector<int>{3, 13, 23});
    CHECK(mt::launch(options, 2, [](mt::Communicator& comm) { return std::string(static_cast<std::size_t>(comm.rank()), 'x'); }) ==
          std::vector<std::string>{"", "x"});
    const auto nested = mt::launch(options, 2, [](mt::Communicator& comm) {
      return std::vector<std::vector<float>>(2, {1.5f, float(comm.rank())});
    });
    CHECK(nested[1] == std::vector<std::vector<float>>{{1.5f, 1.0f}, {1.5f, 1.0f}});
    mt::launch(options, 1, [](mt::Communicator&) {});
  }
}

TEST_CASE("the number of ranks must be positive", "[comm]") {
  CHECK_THROWS_AS(mt::launch(0, [](mt::Communicator&) {}), mt::ArgumentError);
  CHECK_THROWS_WITH(mt::launch(-2, [](mt::Communicator&) {}), "launch: at least one rank is needed, got -2");
}

TEST_CASE("P-01 an exception of one rank is what the parent throws, with its class and text, and the others unwind", "[comm]") {
  for (mt::Backend backend : backends())
    for (int n : {2, 3}) {
      const Traces before;
      const auto began = std::chrono::steady_clock::now();
      try {
        mt::launch({.backend = backend}, n, [](mt::Communicator& comm) {
          comm.barrier();
          if (comm.rank() == 1) throw mt::ShapeError("the shape of it");
          std::vector<float> x(100000);
          comm.all_reduce(x);
        });
        FAIL("nothing was thrown");
      } catch (const mt::ShapeError& e) {
        CHECK(std::string(e.what()) == "launch: rank 1: the shape of it");
      }
      CHECK(std::chrono::steady_clock::now() - began < at_once);
      CHECK(before.only());
      CHECK(Traces::no_children());
    }
}

TEST_CASE("after an abort every communicator of the launch throws, whatever is called", "[comm]") {
  auto* const refused =
      static_cast<std::atomic<int>*>(mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (mt::Backend backend : backends()) {
    *refused = 0;
    CHECK_THROWS_WITH(mt::launch({.backend = backend}, 3,
                                 [&](mt::Communicator& comm) {
                                   const auto group = comm.split(comm.rank() == 2 ? 1 : 0);
                                   if (comm.rank() == 1) throw mt::ShapeError("first");
                                   std::vector<float> x(5000);
                                   const auto lost = [&](auto&& call) {
                                     try {
                                       call();
                                     } catch (const mt::PeerLost&) {
                                       ++*refused;
                                     }
                                   };
                                   lost([&] { comm.barrier(); });
                                   lost([&] { comm.all_reduce(x); });
                                   lost([&] { comm.start_all_reduce(x).wait(); });
                                   lost([&] { comm.split(0); });
                                   lost([&] { group->barrier(); });
                                 }),
                      "launch: rank 1: first");
    CHECK(*refused == 10);
  }
  munmap(refused, sizeof(std::atomic<int>));
}

TEST_CASE("a deadline of zero waits for ever, as debuggers need it", "[comm]") {
  for (mt::Backend backend : backends())
    mt::launch({.backend = backend, .deadline = 0s}, 2, [](mt::Communicator& comm) {
      if (comm.rank() == 1) std::this_thread::sleep_for(150ms);  // some slices of sleep
      comm.barrier();
    });
}

TEST_CASE("ranks are pinned in turn and share the processors among their threads", "[comm]") {
  const int processors = mt::comm::os::processors();
  const auto pinned = mt::launch({.pin = true}, processors + 1, [](mt::Communicator&) {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    int first = 0;
    while (!CPU_ISSET(static_cast<std::size_t>(first), &set)) ++first;
    return std::vector<int>{CPU_COUNT(&set), first};
  });
  for (const auto& p : pinned) CHECK(p[0] == 1);
  CHECK(pinned.front() == pinned.back());
  if (processors > 1) CHECK(pinned[0][1] != pinned[1][1]);
  mt::set_num_threads(3);
  if (mt::num_threads() != 3) return;  // built without OpenMP
  CHECK(mt::launch({}, 1, [](mt::Communicator&) { return mt::num_threads(); })[0] == processors);
  CHECK(mt::launch({}, processors + 1, [](mt::Communicator&) { return mt::num_threads(); })[0] == 1);
  CHECK(mt::launch({.threads = 3}, 1, [](mt::Communicator&) { return mt::num_threads(); })[0] == 3);
  mt::set_num_threads(processors);
}

TEST_CASE("P-02 a rank that is killed, aborts or exits is named with its last call", "[comm]") {
  struct Way {
    void (*end)();
    const char* text;
  };
  const Way ways[] = {{[] { raise(SIGKILL); }, "rank 1 was killed by signal 9 (Killed), its last call was barrier, call 1"},
                      {[] { signal(SIGSEGV, SIG_DFL), raise(SIGSEGV); },
                       "rank 1 was killed by signal 11 (Segmentation fault), its last call was barrier, call 1"},
                      {[] { std::exit(0); }, "rank 1 exited with status 0 before its function returned, its last call was barrier, call 1"},
                      {[] { _exit(3); }, "rank 1 exited with status 3 before its function returned, its last call was barrier, call 1"}};
  for (const Way& way : ways) {
    const Traces before;
    const auto began = std::chrono::steady_clock::now();
    CHECK_THROWS_WITH(mt::launch(3,
                                 [&](mt::Communicator& comm) {
                                   comm.barrier();
                                   if (comm.rank() == 1) way.end();
                                   comm.barrier();
                                 }),
                      Catch::Contains(way.text));
    CHECK(std::chrono::steady_clock::now() - began < at_once);
    CHECK(before.only());
    CHECK(Traces::no_children());
  }
}

TEST_CASE("P-03 a stopped rank is named by the timeout and does not survive", "[comm]") {
  const Traces before;
  try {
    mt::launch({.deadline = 150ms, .grace = 100ms}, 3, [](mt::Communicator& comm) {
      comm.barrier();
      if (comm.rank() == 1) raise(SIGSTOP);
      comm.barrier();
    });
    FAIL("nothing was thrown");
  } catch (const mt::TimeoutError& e) {
    CHECK_THAT(e.what(),
               Catch::Contains("barrier, call 2 timed out after") && Catch::Contains("rank 1 has not arrived (last in barrier, call 1)"));
  }
  CHECK(before.only());
  CHECK(Traces::no_children());
}

TEST_CASE("P-04 a rank that returns early is named at once", "[comm]") {
  for (mt::Backend backend : backends()) {
    const auto began = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(mt::launch({.backend = backend}, 3,
                               [](mt::Communicator& comm) {
                                 if (comm.rank() == 2) return;
                                 comm.barrier();
                               }),
                    mt::PeerLost);
    CHECK(std::chrono::steady_clock::now() - began < at_once);
  }
}

TEST_CASE("C-04 C-05 C-06 P-16 different calls are an error on every rank, with both in the text and the data untouched", "[comm]") {
  for (mt::Backend backend : backends())
    mt::launch({.backend = backend}, 3, [](mt::Communicator& comm) {
      const bool odd = comm.rank() == 1;
      std::vector<float> x(2000, 1.5f);
      std::vector<std::int32_t> same_width(2000, 7);
      const auto refused = [&](auto&& call, const char* one, const char* other) {
        std::string text;
        try {
          call();
        } catch (const mt::CollectiveMismatch& e) {
          text = e.what();
        }
        require(text.find(one) != text.npos && text.find(other) != text.npos && text.find("rank 0") != text.npos &&
                    text.find("rank 1") != text.npos,
                mt::concat("expected ", one, " and ", other, " in: ", text));
        require(x == std::vector<float>(2000, 1.5f) && same_width == std::vector<std::int32_t>(2000, 7), "data changed");
        comm.barrier();  // the group goes on
      };
      refused([&] { odd ? comm.barrier() : comm.all_reduce(x); }, "barrier", "all_reduce(sum, 2000 x float32)");
      refused([&] { comm.all_reduce(std::span(x).first(odd ? 2000 : 1999)); }, "2000 x float32", "1999 x float32");
      refused([&] { odd ? comm.all_reduce(same_width) : comm.all_reduce(x); }, "2000 x int32", "2000 x float32");
      refused([&] { comm.all_reduce(x, odd ? mt::Reduction::max : mt::Reduction::sum); }, "max", "sum");
      refused([&] { comm.broadcast(x, odd ? 0 : 2); }, "root 0", "root 2");
      refused([&] { comm.all_reduce(x, mt::Reduction::sum, odd ? 6 : 5); }, "tag #6", "tag #5");
    });
}
