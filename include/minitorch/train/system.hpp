// What training asks of the operating system: terminals, signals, the output of other programs.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

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
inline constinit std::atomic<int> stop_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" inline void minitorch_note_signal(int signal) {
  if (detail::stop_signal.exchange(signal) != 0) ::_exit(128 + signal);
}
}  // namespace detail

// While one lives, the first SIGINT or SIGTERM is noted, so that the program can save its state at the next step; the second one
// ends the process at once.
class StopSignals {
 public:
  StopSignals() {
    detail::stop_signal = 0;
    struct ::sigaction action {};
    action.sa_handler = detail::minitorch_note_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, &interrupt_);
    ::sigaction(SIGTERM, &action, &terminate_);
  }
  ~StopSignals() {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGTERM, &terminate_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The signal that came, or 0.
  int received() const { return detail::stop_signal; }

 private:
  struct ::sigaction interrupt_ {
  }, terminate_{};
};

}  // namespace minitorch::train
