// What training asks of the operating system: terminals, signals, the output of other programs.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <minitorch/core/error.hpp>

namespace minitorch::train {

// Whether stderr is a terminal that can redraw a line.
inline bool can_redraw() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb" && std::getenv("CI") == nullptr;
}

// Columns of the terminal; 80 where there is none.
inline int terminal_width() {
  ::winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// What a shell command prints, or nothing if it fails.
inline std::optional<std::string> output_of(const std::string& command) {
  const auto close = [](std::FILE* stream) { ::pclose(stream); };
  std::unique_ptr<std::FILE, decltype(close)> stream(::popen(command.c_str(), "r"), close);
  if (!stream) return std::nullopt;
  std::string output;
  char piece[4096];
  while (const std::size_t count = std::fread(piece, 1, sizeof piece, stream.get())) output.append(piece, count);
  return ::pclose(stream.release()) == 0 ? std::optional(output) : std::nullopt;
}

namespace detail {
// The page where processes that are forked from one another note a signal, and how many this process has received itself.
inline constinit std::atomic<std::atomic<int>*> stop_page = nullptr;
inline constinit std::atomic<int> stop_count = 0;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::atomic<int>*>::is_always_lock_free);

extern "C" inline void minitorch_note_signal(int signal) {
  if (detail::stop_count.fetch_add(1) != 0) ::_exit(128 + signal);
  if (std::atomic<int>* const page = detail::stop_page.load()) page->store(signal);
}
}  // namespace detail

// While one lives, the first SIGINT or SIGTERM is noted, so that the program can save its state at the next step; the second one
// ends the process at once. Ranks that are launched meanwhile handle them alike, and each sees what any of them has received, so it
// does not matter whether a signal goes to one process or to all. Throws Error where there is no page left for that.
class StopSignals {
 public:
  StopSignals() {
    void* const page = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) fail<Error>("signals: no memory to share with the ranks");
    received_ = new (page) std::atomic<int>(0);
    detail::stop_count = 0;
    detail::stop_page = received_;
    struct ::sigaction action {};
    action.sa_handler = detail::minitorch_note_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, &interrupt_);
    ::sigaction(SIGTERM, &action, &terminate_);
  }
  ~StopSignals() {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGTERM, &terminate_, nullptr);
    detail::stop_page = nullptr;
    ::munmap(received_, sizeof(std::atomic<int>));
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The last signal that came to any of the processes, or 0.
  int received() const { return received_->load(); }

 private:
  std::atomic<int>* received_;
  struct ::sigaction interrupt_ {
  }, terminate_{};
};

}  // namespace minitorch::train
