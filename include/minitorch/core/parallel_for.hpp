// Work split over threads in pieces that depend on its size alone, so that results never depend on the number of threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace minitorch {

// The threads that a parallel region started from this thread uses; 1 without OpenMP.
inline int num_threads() {
#ifdef _OPENMP
  return omp_in_parallel() ? 1 : omp_get_max_threads();
#else
  return 1;
#endif
}

// Sets that number for the calling thread. Values below 1 count as 1.
inline void set_num_threads([[maybe_unused]] int threads) {
#ifdef _OPENMP
  omp_set_num_threads((std::max)(threads, 1));
#endif
}

// Calls body(first, last) over disjoint ranges that cover [0, count), each a multiple of `grain` long but for the last.
// The body must give the same result for an element whatever the range. Runs in the calling thread when there is one piece.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, Body&& body) {
  if (count <= 0) return;
  const std::int64_t pieces = (count + grain - 1) / grain;
#ifdef _OPENMP
  const int threads = static_cast<int>((std::min<std::int64_t>)(pieces, num_threads()));
  if (threads > 1) {
    std::exception_ptr error;
#pragma omp parallel num_threads(threads)
    {
      const std::int64_t mine = omp_get_thread_num(), all = omp_get_num_threads();
      const std::int64_t first = pieces * mine / all * grain, last = (std::min)(pieces * (mine + 1) / all * grain, count);
      try {
        if (first < last) body(first, last);
      } catch (...) {
#pragma omp critical(minitorch_parallel_for)
        error = std::current_exception();
      }
    }
    if (error) std::rethrow_exception(error);
    return;
  }
#endif
  (void)pieces;
  body(std::int64_t{0}, count);
}

}  // namespace minitorch
