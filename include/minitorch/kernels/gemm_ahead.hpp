// What a product reads next, asked for line by line while a tile computes, so that nothing waits for memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace minitorch::kernels {

namespace detail {

// Runs of `bytes`, `stride` apart, as cache lines on their way into the second cache.
struct Lines {
  const std::byte *line = nullptr, *end = nullptr;  // what is left of the current run
  std::int64_t stride = 0, bytes = 0, runs = 0;     // it included

  Lines() = default;
  Lines(const void* first, std::int64_t bytes_of_run, std::int64_t count = 1, std::int64_t from_run_to_run = 0)
      : line(static_cast<const std::byte*>(first)), end(line + bytes_of_run), stride(from_run_to_run), bytes(bytes_of_run), runs(count) {}
};

// Goes through the lines of this tile of c, of the next panel of b, of the next rows of a; then stays where it is.
class Ahead {
 public:
  Lines b, a;

  // Before each tile.
  void start(const Lines& c) {
    c_ = c;
    idle_ = Lines(c.line, 64);  // memory that is there: looking for a page that is not takes time
    now_ = &c_;
  }

  [[gnu::always_inline]] void one() {
    Lines& l = *now_;
    __builtin_prefetch(l.line, 0, 2);
    l.line += 64;
    if (l.line < l.end) return;
    l.end += l.stride;
    l.line = l.end - l.bytes;
    if (--l.runs <= 0) now_ = now_ == &c_ && b.runs > 0 ? &b : now_ != &a && a.runs > 0 ? &a : &idle_;
  }

 private:
  Lines c_, idle_;
  Lines* now_ = &c_;
};

}  // namespace detail

}  // namespace minitorch::kernels
