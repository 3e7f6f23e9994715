// Random draws by position: each is a function of seed, stream and index, so nothing has to be saved to continue.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include <minitorch/core/philox.hpp>

namespace minitorch::train {

class Draws {
 public:
  // `stream` keeps the draws of different purposes apart.
  Draws(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  std::uint64_t bits(std::uint64_t index) const {
    std::array<std::uint64_t, 4> counter{index & 0xffffffff, index >> 32, stream_ & 0xffffffff, stream_ >> 32};
    philox(counter, seed_);
    return counter[0] | counter[1] << 32;
  }
  // In [0, 1).
  double uniform(std::uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1p-53; }
  // In [0, count).
  std::int64_t below(std::uint64_t index, std::int64_t count) const {
    return static_cast<std::int64_t>(uniform(index) * static_cast<double>(count));
  }

 private:
  std::uint64_t seed_, stream_;
};

}  // namespace minitorch::train
