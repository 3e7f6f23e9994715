// Progress: a bar that is redrawn on a terminal, and nothing but lines elsewhere.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <minitorch/train/system.hpp>

namespace minitorch::train {

// "1:05", "2:03:09".
inline std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>((std::max)(0.0, seconds));
  char text[32];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  return text;
}

// What a line of progress says, without the bar: " 37% 740/2000 [0:24<0:41, 18.1k tok/s, ...]".
inline std::string progress_text(std::int64_t step, std::int64_t steps, double seconds, double left, std::string_view details) {
  char start[96];
  std::snprintf(start, sizeof start, "%3.0f%% %lld/%lld [%s<%s, ", 100 * static_cast<double>(step) / static_cast<double>(steps),
                static_cast<long long>(step), static_cast<long long>(steps), clock_text(seconds).c_str(), clock_text(left).c_str());
  return start + std::string(details) + ']';
}

// A bar of `width` columns.
inline std::string progress_bar(double part, int width) {
  const int full = static_cast<int>(part * width);
  return std::string(static_cast<std::size_t>((std::max)(0, full)), '#') +
         std::string(static_cast<std::size_t>((std::max)(0, width - full)), '.');
}

class Progress {
 public:
  // From `first` to `steps`. Without `wanted`, or where stderr is no terminal that redraws, nothing is drawn.
  Progress(std::int64_t first, std::int64_t steps, bool wanted) : first_(first), steps_(steps), drawn_(wanted && can_redraw()) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // After a step; redraws at most ten times a second.
  void update(std::int64_t step, std::string_view details) {
    if (step == first_ + 1) warm_ = seconds();  // the first step pays for what the others reuse
    if (!drawn_ || seconds() - last_ < 0.1) return;
    last_ = seconds();
    const std::int64_t timed = step - first_ - 1;
    const double left = timed > 0 ? (last_ - warm_) / static_cast<double>(timed) * static_cast<double>(steps_ - step) : 0;
    std::string text = progress_text(step, steps_, last_, left, details);
    const int room = terminal_width() - 1 - static_cast<int>(text.size());
    if (room > 10)
      text.insert(5, '|' + progress_bar(static_cast<double>(step) / static_cast<double>(steps_), (std::min)(room - 3, 30)) + "| ");
    std::fprintf(stderr, "\r%.*s\x1b[K", terminal_width() - 1, text.c_str());
    std::fflush(stderr);
    visible_ = true;
  }

  // Takes the bar away, so that other lines can be printed; the next update brings it back.
  void clear() {
    if (!visible_) return;
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
    visible_ = false;
    last_ = -1;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::int64_t first_, steps_;
  bool drawn_, visible_ = false;
  Clock::time_point start_ = Clock::now();
  double last_ = -1, warm_ = 0;
};

}  // namespace minitorch::train
