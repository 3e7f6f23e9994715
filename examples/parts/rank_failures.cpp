// What the parent and the other ranks learn when a rank does not start, throws or is killed; and the logs of ranks.
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <examples/parts/rank_failures.hpp>
#include <minitorch/parallel.hpp>

namespace examples {

namespace mt = minitorch;

const support::Part rank_failures_part{"rank_failures",
                                       "Ranks that fail",
                                       {{"start_timeout_seconds", "seconds that ranks have to start"},
                                        {"start_timeout", "a rank that does not start"},
                                        {"log_rank_0", "the log of rank 0"},
                                        {"log_rank_1", "the log of rank 1"},
                                        {"exception", "rank 1 throws, rank 0 waits: the parent gets"},
                                        {"killed", "rank 1 is killed, rank 0 waits: the parent gets"},
                                        {"mismatch", "ranks that call different things"},
                                        {"nothing_left", "no child process is left"}}};

// A directory that is gone when the scope ends.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    path_ = (std::filesystem::temp_directory_path() / "minitorch-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) throw std::filesystem::filesystem_error(path_, std::error_code(errno, std::generic_category()));
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// While true, processes forked from this one sleep before they do anything.
std::atomic<bool> children_oversleep{false};
void oversleep() {
  if (children_oversleep) ::sleep(60);
}

// The text of the error that launching f must throw.
template <class E, class F>
std::string caught(const mt::LaunchOptions& options, F f) {
  try {
    mt::launch(options, 2, f);
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another error: ") + error.what();
  }
  return "no error";
}

void rank_failures(support::Report& report) {
  using namespace std::chrono_literals;
  report.begin(rank_failures_part);
  const mt::LaunchOptions defaults;
  report.check("start_timeout_seconds", std::chrono::duration<double>(defaults.start_timeout).count(), 30.0);
  [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, oversleep);
  children_oversleep = true;
  report.contains("start_timeout", caught<mt::TimeoutError>({.start_timeout = 100ms, .grace = 0ms}, [](mt::Communicator&) {}),
                  "rank 0 has not started in time");
  children_oversleep = false;

  const TemporaryDirectory logs;
  mt::launch({.log_directory = logs.path()}, 2,
             [](mt::Communicator& comm) { comm.log(fmt::format("rank {} of {}", comm.rank(), comm.size())); });
  for (int r = 0; r < 2; ++r) {
    std::string line;
    std::getline(std::ifstream(fmt::format("{}/rank-{}.log", logs.path(), r)), line);
    report.check(fmt::format("log_rank_{}", r), line, fmt::format("[rank {}] rank {} of 2", r, r));
  }

  report.contains("exception",
                  caught<mt::ArgumentError>(defaults,
                                            [](mt::Communicator& comm) {
                                              if (comm.rank() == 1) throw mt::ArgumentError("sample 4 is not a number");
                                              comm.barrier();
                                            }),
                  "sample 4 is not a number");
  report.contains("killed",
                  caught<mt::PeerLost>(defaults,
                                       [](mt::Communicator& comm) {
                                         if (comm.rank() == 1) ::raise(SIGKILL);
                                         comm.barrier();
                                       }),
                  "rank 1 was killed by signal 9 (Killed)");
  report.contains("mismatch",
                  caught<mt::CollectiveMismatch>(defaults,
                                                 [](mt::Communicator& comm) {
                                                   std::vector<float> data(comm.rank() == 0 ? 4 : 5);
                                                   comm.all_reduce(data);
                                                 }),
                  "all_reduce");
  report.check("nothing_left", ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD);
}

}  // namespace examples
