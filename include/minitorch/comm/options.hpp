// How ranks are launched.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace minitorch {

enum class Backend : std::uint8_t {
  shm,      // forked processes
  threads,  // threads of this process: for debuggers and ThreadSanitizer
};

struct LaunchOptions {
  Backend backend = Backend::shm;
  std::chrono::nanoseconds deadline = std::chrono::minutes(5);        // of a call that waits for its peers; 0 is never
  std::chrono::nanoseconds start_timeout = std::chrono::seconds(30);  // until all ranks run
  std::chrono::nanoseconds grace = std::chrono::seconds(5);           // for the others to end after one failed, before they are killed
  int threads = 0;                                                    // of each rank; 0 is processors / ranks, at least 1
  bool pin = false;                                                   // rank r to the r-th processor, in turn
  std::int64_t arena =
      0;  // largest size of a rank's shared memory in bytes; pages are taken when used. 0 is 1 GiB, or less on a small machine
  std::string
      log_directory{};  // rank-0.log, ... are written there: what ranks print, each line after "[rank 0] "; empty: nothing is redirected
  std::uint64_t first_epoch = 0;  // where the counters of the world group begin; tests start near their wrap
};

}  // namespace minitorch
