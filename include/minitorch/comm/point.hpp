// The points of the protocol where fault injection and tests may step in.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace minitorch::comm {

enum class Point : std::uint8_t {
  entered,    // a call begins
  announced,  // the line is written, the flag raised
  arrived,    // counted at the gate
  checked,    // the last to arrive has compared all lines, and worked when it works for all
  committed,  // the meeting has happened
  sleeping,   // about to sleep
  woken,      // has slept
  working,    // about to touch memory of peers
  worked,     // has touched it
  leaving,    // the call has failed: nothing commits any more
};

inline constexpr int point_count = 10;

}  // namespace minitorch::comm
