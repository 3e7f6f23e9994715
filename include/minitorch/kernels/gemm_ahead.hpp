// What a product reads next, asked for pair of lines by pair of lines while a tile computes, so that nothing waits for memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace minitorch::kernels {

namespace detail {

// The caches that lines are asked into, as the compiler numbers them.
inline constexpr std::integral_constant<int, 3> first_cache;
inline constexpr std::integral_constant<int, 2> second_cache;

// Pairs of cache lines a fixed distance apart: what a tile can ask for without looking anything up.
struct LineWalk {
  const std::byte* line;
  std::int64_t step, count;

  template <int Locality>
  [[gnu::always_inline]] void one(std::integral_constant<int, Locality>) {
    __builtin_prefetch(line, 0, Locality);
    __builtin_prefetch(line + 64, 0, Locality);
    line += step;
  }
};

// Runs of `bytes`, `stride` apart, on their way into the second cache: along the runs, or across where there are more of them.
class Lines {
 public:
  Lines() = default;
  Lines(const std::byte* first, std::int64_t bytes, std::int64_t runs, std::int64_t stride) : line_(first), first_(first) {
    const std::int64_t pairs = (bytes + 127) / 128;
    const bool across = runs > pairs;
    step_ = across ? stride : 128;
    turn_ = across ? 128 : stride;
    left_ = length_ = across ? runs : pairs;
    turns_ = across ? pairs : runs;
  }

  bool empty() const { return turns_ <= 0; }

  LineWalk take(std::int64_t most) {
    const LineWalk taken{line_, step_, (std::min)(most, left_)};
    line_ += taken.count * step_;
    left_ -= taken.count;
    if (left_ == 0) {
      line_ = first_ += turn_;
      left_ = length_;
      --turns_;
    }
    return taken;
  }

 private:
  const std::byte *line_ = nullptr, *first_ = nullptr;
  std::int64_t step_ = 0, turn_ = 0, left_ = 0, length_ = 0, turns_ = 0;
};

// Goes through the lines of the next panel of b, of the next rows of a; then stays where it is.
struct Ahead {
  Lines b, a;
  const std::byte* idle = nullptr;  // in memory that is there: looking for a page that is not takes time

  LineWalk take(std::int64_t most) {
    if (!b.empty()) return b.take(most);
    if (!a.empty()) return a.take(most);
    return {idle, 0, most};
  }
};

}  // namespace detail

}  // namespace minitorch::kernels
