// Time and memory of this process.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace support {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// The median time of `runs` calls, in seconds.
template <class F>
double median_seconds(int runs, F&& call) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const Stopwatch watch;
    call();
    times.push_back(watch.seconds());
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

// The most memory this process has had resident so far, in bytes; 0 where the system does not say.
std::int64_t peak_resident_bytes();

}  // namespace support
