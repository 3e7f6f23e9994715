// Ranks as processes: what surrounds them, and that nothing remains of them.
// SPDX-License-Identifier: MIT
#include "tests/comm/ranks.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/catch.hpp"

using namespace ranks;

namespace {

// Runs body in a forked process and returns how it ended: an exit status, or 128 + a signal.
template <class Body>
int in_process(Body&& body) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    int status = 99;
    try {
      status = body();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
    }
    _exit(status);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool alive(pid_t pid) {
  std::ifstream file(mt::concat("/proc/", pid, "/stat"));
  std::string number, name, state;
  return static_cast<bool>(file >> number >> name >> state) && state != "Z";
}

void sum(mt::Communicator& comm) {
  std::vector<float> x(20000, 1.0f);
  comm.all_reduce(x);
  require(x[19999] == static_cast<float>(comm.size()), "sum");
}

}  // namespace

TEST_CASE("P-06 P-07 when the launcher is killed or interrupted, no rank is alive two seconds later") {
  for (int signal_number : {SIGKILL, SIGINT}) {
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    const int how = in_process([&] {
      signal(SIGINT, SIG_DFL);
      mt::launch(3, [&](mt::Communicator& comm) {
        const pid_t pid = getpid();
        require(write(pipe_ends[1], &pid, sizeof pid) == sizeof pid, "write");
        comm.barrier();
        if (comm.rank() == 0) kill(getppid(), signal_number);
        std::this_thread::sleep_for(60s);
      });
      return 0;
    });
    CHECK(how == 128 + signal_number);  // 130 is what a shell shows for SIGINT
    for (int r = 0; r < 3; ++r) {
      pid_t pid = 0;
      REQUIRE(read(pipe_ends[0], &pid, sizeof pid) == sizeof pid);
      for (int i = 0; i < 200 && alive(pid); ++i) std::this_thread::sleep_for(10ms);
      CHECK_FALSE(alive(pid));
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
  }
}

TEST_CASE("P-08 a hundred launches, some with crashes, leave no file, descriptor or child") {
  mt::launch(2, sum);
  const Traces before;
  for (int i = 0; i < 100; ++i) {
    const auto run = [&] {
      mt::launch(2, [&](mt::Communicator& comm) {
        sum(comm);
        if (i % 4 == 1 && comm.rank() == 1) raise(SIGKILL);
        if (i % 4 == 2 && comm.rank() == 0) throw mt::Error("thrown");
        comm.barrier();
      });
    };
    if (i % 4 == 1 || i % 4 == 2)
      CHECK_THROWS_AS(run(), mt::Error);
    else
      run();
  }
  CHECK(before.only());
  CHECK(Traces::no_children());
}

TEST_CASE("P-09 launches are independent: two at once, and one inside another", "[native]") {
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // which give up, or may hang, when two threads fork at once
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const auto got = mt::launch(2, [&](mt::Communicator& comm) {
          std::vector<int> x{t * 100 + i};
          comm.all_reduce(x);
          return x[0];
        });
        right += got == std::vector<int>(2, 2 * (t * 100 + i));
      }
    });
  for (auto& t : threads) t.join();
  CHECK(right == 20);
#endif
  const auto nested = mt::launch(2, [](mt::Communicator& outer) {
    const auto inner = mt::launch(2, [&](mt::Communicator& comm) {
      sum(comm);
      bool refused = false;
      try {
        outer.barrier();
      } catch (const mt::CommError& e) {
        refused = std::string(e.what()).find("a communicator belongs to the process of its rank") != std::string::npos;
      }
      return refused && outer.rank() * 10 + comm.rank() >= 0;
    });
    outer.barrier();
    return inner[0] && inner[1];
  });
  CHECK((nested[0] && nested[1]));
}

TEST_CASE("P-10 too little shared memory is an exception with the numbers") {
  CHECK_THROWS_WITH(mt::launch({.arena = std::int64_t{1} << 60}, 2, [](mt::Communicator&) {}), Catch::Contains("must fit into memory"));
  CHECK_THROWS_WITH(mt::launch({.arena = 4 << 20}, 2,
                               [](mt::Communicator& comm) {
                                 comm.barrier();
                                 std::pmr::vector<char> more(5 << 20, comm.memory());
                               }),
                    Catch::Contains("5242880 bytes were requested, 4194304 of 4194304 are free"));
}

TEST_CASE("P-10 P-14 a small /dev/shm or none does not matter, and no name is ever left in it") {
  for (const char* size : {"size=1m", ""}) {
#if defined(__clang__) && defined(_OPENMP)
    if (*size == '\0') continue;  // LLVM's OpenMP opens a file in /dev/shm itself, and aborts without
#endif
    const int how = in_process([&] {
      if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
      if (*size == '\0' ? mount("none", "/dev", "tmpfs", 0, "size=64k") != 0 : mount("none", "/dev/shm", "tmpfs", 0, size) != 0) return 77;
      mt::launch(2, [](mt::Communicator& comm) {
        std::pmr::vector<float> big(8 << 20, 1.0f, comm.memory());  // 32 MiB each
        comm.all_reduce(big);
        require(big.back() == 2, "sum");
        require(entries("/dev/shm").size() <= 2, "a name in /dev/shm");
      });
      return 0;
    });
    if (how == 77)
      WARN("mount namespaces are not permitted here");
    else
      CHECK(how == 0);
  }
}

TEST_CASE("P-11 eight ranks on one processor finish a thousand sums of 1 KiB without burning it", "[native]") {
  const int how = in_process([] {
    mt::comm::os::pin_to(0);
    const auto began = std::chrono::steady_clock::now();
    mt::launch(8, [](mt::Communicator& comm) {
      std::vector<float> x(256, 1.0f);
      for (int i = 0; i < 1000; ++i) {
        std::fill(x.begin(), x.end(), 1.0f);
        comm.all_reduce(x);
        require(x[255] == 8, "sum");
      }
    });
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
    const double busy = seconds(used.ru_utime) + seconds(used.ru_stime);
    // Waiting by spinning would take a time slice of some milliseconds a rank and call.
    return wall < 5s && busy < 1.1 * wall.count() + 0.05 ? 0 : 1;
  });
  CHECK(how == 0);
}

TEST_CASE("P-12 ranks use OpenMP after their parent did, and see a copy of its thread's state", "[native]") {
  for (mt::Backend backend : backends()) {
    std::vector<double> numbers(1 << 20, 1.0);
    mt::set_num_threads(2);
    mt::parallel_for(1 << 20, 1 << 10, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) numbers[static_cast<std::size_t>(i)] += 1;
    });
    mt::manual_seed(42);
    const auto got = mt::launch({.backend = backend, .threads = 2}, 2, [&](mt::Communicator& comm) {
      std::vector<double> mine(1 << 20);
      mt::parallel_for(1 << 20, 1 << 10, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) mine[static_cast<std::size_t>(i)] = numbers[static_cast<std::size_t>(i)];
      });
      sum(comm);
      return mine.back() + static_cast<double>(mt::thread_state.seed);
    });
    CHECK(got == std::vector<double>{44, 44});
  }
}

TEST_CASE("what the parent has not flushed is printed once, and ranks print into their logs, line by line") {
  const auto directory = std::filesystem::temp_directory_path() / mt::concat("minitorch-logs-", getpid());
  std::filesystem::create_directory(directory);
  const auto read = [&](const std::string& name) {
    std::ifstream file(directory / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const int how = in_process([&] {
    if (freopen((directory / "out").c_str(), "w", stdout) == nullptr) return 1;
    std::printf("before\n");
    mt::launch({.log_directory = directory.string()}, 2, [](mt::Communicator& comm) {
      std::printf("one from %d\ntwo", comm.rank());
      std::fflush(stdout);
      comm.log("three");
      comm.barrier();
    });
    std::fflush(stdout);
    return 0;
  });
  CHECK(how == 0);
  CHECK(read("out") == "before\n");
  CHECK(read("rank-1.log") == "[rank 1] one from 1\n[rank 1] twothree\n");
  std::filesystem::remove_all(directory);
}

TEST_CASE("few descriptors are enough, and SIGCHLD may be ignored") {
#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
  const rlim_t count = 16;  // the sanitizer looks at memory through a pipe, LLVM's OpenMP opens files in each process
#else
  const rlim_t count = 8;
#endif
  CHECK(in_process([&] {
          signal(SIGCHLD, SIG_IGN);
          const rlimit few{count, count};
          setrlimit(RLIMIT_NOFILE, &few);
          mt::launch(4, sum);
          try {
            mt::launch(4, [](mt::Communicator& comm) {
              if (comm.rank() == 2) raise(SIGKILL);
              comm.barrier();
            });
            return 1;
          } catch (const mt::PeerLost&) {
            return 0;
          }
        }) == 0);
}

TEST_CASE("counters say how often, how much and how long") {
  mt::launch(2, [](mt::Communicator& comm) {
    std::vector<float> x(100000);
    for (int i = 0; i < 3; ++i) comm.all_reduce(x);
    const mt::Counter& c = comm.counters()[mt::comm::Verb::all_reduce];
    require(c.calls == 3 && c.bytes == 1200000 && c.moving > 0ns && c.waiting >= 0ns, "counters");
    if (comm.rank() == 0) std::this_thread::sleep_for(30ms);
    comm.barrier();
    if (comm.rank() == 1) require(comm.counters()[mt::comm::Verb::barrier].waiting > 10ms, "waiting");
    require(comm.counters().total().calls == 4, "total");
  });
}

TEST_CASE("counters of epochs survive the wrap of their lower half") {
  for (const std::uint64_t epoch : {(std::uint64_t{1} << 28) - 3, (std::uint64_t{1} << 30) - 3, (std::uint64_t{1} << 32) - 3})
    for (int n : {2, 3})
      mt::launch({.first_epoch = epoch}, n, [](mt::Communicator& comm) {
        for (int i = 0; i < 20; ++i) sum(comm), comm.barrier(), std::this_thread::sleep_for(std::chrono::milliseconds(comm.rank()));
      });
}
