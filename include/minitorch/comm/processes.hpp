// Ranks as forked processes: starting them, watching them, and leaving nothing behind.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <thread>
#include <vector>

#include <minitorch/comm/rank.hpp>

namespace minitorch::comm {

// A child process: its number, a descriptor that becomes readable when it ends, and the pipe that carries what it prints.
class Child {
 public:
  pid_t pid = -1;
  int handle = -1, pipe = -1, log = -1;
  bool ended = false;
  int status = 0;

  Child() = default;
  Child(const Child&) = delete;
  Child(Child&& other) noexcept
      : pid(std::exchange(other.pid, -1)),
        handle(std::exchange(other.handle, -1)),
        pipe(std::exchange(other.pipe, -1)),
        log(std::exchange(other.log, -1)),
        ended(other.ended),
        status(other.status),
        line_(std::move(other.line_)) {}
  ~Child() {
    for (int fd : {handle, pipe, log})
      if (fd >= 0) ::close(fd);
  }

  // Whether it has ended; never waits, and never for another process.
  bool reap() {
    if (ended || pid < 0) return true;
    const pid_t got = ::waitpid(pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return false;
    if (got < 0) status = -1;  // the program ignores SIGCHLD: the system has forgotten how it ended
    return ended = true;
  }

  // Moves what was printed into the log, line by line.
  void drain(int rank) {
    char bytes[4096];
    for (ssize_t n; pipe >= 0 && (n = ::read(pipe, bytes, sizeof bytes)) > 0;)
      for (ssize_t i = 0; i < n; ++i) {
        if (line_.empty()) line_ = concat("[rank ", rank, "] ");
        line_ += bytes[i];
        if (bytes[i] == '\n') flush();
      }
  }
  void flush() {
    if (!line_.empty() && line_.back() != '\n') line_ += '\n';
    for (std::size_t at = 0; at < line_.size();) {
      const ssize_t n = ::write(log, line_.data() + at, line_.size() - at);
      if (n <= 0) break;
      at += static_cast<std::size_t>(n);
    }
    line_.clear();
  }

 private:
  std::string line_;
};

template <class Policy>
class Processes {
 public:
  explicit Processes(const Stage<Policy>& stage) : stage_(stage) {}
  Processes(const Processes&) = delete;
  ~Processes() { kill_all(); }

  // Returns when all ranks have ended.
  void run() {
    std::fflush(nullptr);  // or every rank would print it again
    for (int r = 0; r < stage_.plan.ranks; ++r) start(r);
    const auto began = Clock::now();
    while (!reap()) {
      World& world = *stage_.world;
      const auto now = Clock::now();
      if (!world.cause.set() && now - began > stage_.options.start_timeout) check_start();
      if (world.cause.set() && !failed_at_.has_value()) {
        failed_at_ = now;
        world.wake_all();
      }
      if (failed_at_.has_value() && now - *failed_at_ > stage_.options.grace) kill_all();
      sleep();
    }
    for (std::size_t r = 0; r < children_.size(); ++r) children_[r].drain(static_cast<int>(r)), children_[r].flush();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void start(int rank) {
    Child child;
    int ends[2] = {-1, -1};
    if (!stage_.options.log_directory.empty()) {
      const std::string path = concat(stage_.options.log_directory, "/rank-", rank, ".log");
      child.log = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
      if (child.log < 0) fail<IoError>("launch: the log ", path, " cannot be written: ", os::error_text(errno));
      if (::pipe2(ends, O_CLOEXEC) != 0) fail<CommError>("launch: no pipe for the log of rank ", rank, ": ", os::error_text(errno));
      child.pipe = ends[0];
      ::fcntl(child.pipe, F_SETFL, O_NONBLOCK);
    }
    const pid_t parent = ::getpid();
    child.pid = ::fork();
    if (child.pid == 0) become(rank, parent, ends[1]);
    const int error = errno;
    if (ends[1] >= 0) ::close(ends[1]);
    if (child.pid < 0) fail<CommError>("launch: rank ", rank, " of ", stage_.plan.ranks, " cannot be forked: ", os::error_text(error));
    child.handle = static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0));  // -1 when there are no descriptors left: then it is polled
    children_.push_back(std::move(child));
  }

  // Does not return, runs no destructors of the parent's objects and no exit handlers.
  [[noreturn]] void become(int rank, pid_t parent, int output) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    if (output >= 0) ::dup2(output, 1), ::dup2(output, 2);
    try {
      std::thread([&] { run_rank(stage_, rank, 2); }).join();
    } catch (...) {
      const Described error = describe_exception();
      stage_.world->cause.claim(static_cast<std::uint32_t>(rank) + 1, Failure::threw, rank, error.error, error.text);
      stage_.world->status(rank).state.store(State::failed, std::memory_order_release);
    }
    std::fflush(nullptr);
    ::_exit(0);
  }

  // Whether all have ended; reports those who ended without a word.
  bool reap() {
    bool all = true;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      Child& child = children_[i];
      const bool before = child.ended;
      if (!child.reap())
        all = false;
      else if (!before)
        report(static_cast<int>(i), child.status);
    }
    return all;
  }

  void report(int rank, int how) {
    World& world = *stage_.world;
    Condition& status = world.status(rank);
    if (status.state.load(std::memory_order_acquire) >= State::finished) return;
    std::string text = concat("rank ", rank);
    if (how == -1)
      text += " ended";
    else if (WIFSIGNALED(how))
      text += concat(" was killed by signal ", WTERMSIG(how), " (", ::strsignal(WTERMSIG(how)), ")");
    else
      text += concat(" exited with status ", WEXITSTATUS(how), " before its function returned");
    text += status.began() ? concat(", its last call was ", status.last()) : ", before its first call";
    status.state.store(State::failed, std::memory_order_seq_cst);
    Cause& cause = world.cause;
    const bool unwritten = cause.failure.load(std::memory_order_acquire) == Failure::none;
    if (!cause.claim(static_cast<std::uint32_t>(world.ranks) + 1, Failure::lost, rank, ErrorClass::peer_lost, text) && unwritten &&
        cause.claimed.load(std::memory_order_acquire) == static_cast<std::uint32_t>(rank) + 1)
      cause.write(Failure::lost, rank, ErrorClass::peer_lost, text);  // it died between the two steps of a claim
    world.wake_all();
  }

  void check_start() {
    for (int r = 0; r < stage_.plan.ranks; ++r)
      if (stage_.world->status(r).state.load(std::memory_order_acquire) == State::starting)
        stage_.world->cause.claim(static_cast<std::uint32_t>(stage_.plan.ranks) + 1, Failure::timeout, r, ErrorClass::timeout,
                                  concat("rank ", r, " has not started in time"));
  }

  void sleep() {
    std::vector<pollfd> waits;
    bool blind = false;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      Child& child = children_[i];
      child.drain(static_cast<int>(i));
      if (child.ended) continue;
      if (child.handle >= 0)
        waits.push_back({child.handle, POLLIN, 0});
      else
        blind = true;
      if (child.pipe >= 0) waits.push_back({child.pipe, POLLIN, 0});
    }
    ::poll(waits.data(), waits.size(), blind ? 2 : 50);
  }

  void kill_all() {
    for (Child& child : children_)
      if (!child.ended && child.pid > 0 && !child.reap()) ::kill(child.pid, SIGKILL);
    for (Child& child : children_)
      while (!child.reap()) ::poll(nullptr, 0, 1);
  }

  const Stage<Policy>& stage_;
  std::vector<Child> children_;
  std::optional<Clock::time_point> failed_at_;
};

}  // namespace minitorch::comm
