// Work split over threads in pieces that depend on its size alone, so that results never depend on the number of threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>

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

namespace detail {

// parallel_for without the type of its body: compiled once, however many bodies there are.
inline void run_in_pieces(std::int64_t count, std::int64_t grain, void (*body)(void*, std::int64_t, std::int64_t), void* context) {
#ifdef _OPENMP
  const std::int64_t pieces = (count + grain - 1) / grain;
  const int threads = pieces > 1 ? static_cast<int>((std::min<std::int64_t>)(pieces, num_threads())) : 1;
  if (threads > 1) {
    std::exception_ptr error;
#pragma omp parallel num_threads(threads)
    {
      const std::int64_t mine = omp_get_thread_num(), all = omp_get_num_threads();
      const std::int64_t first = pieces * mine / all * grain, last = (std::min)(pieces * (mine + 1) / all * grain, count);
      try {
        if (first < last) body(context, first, last);
      } catch (...) {
#pragma omp critical(minitorch_parallel_for)
        error = std::current_exception();
      }
    }
    if (error) std::rethrow_exception(error);
    return;
  }
#endif
  (void)grain;
  body(context, 0, count);
}

}  // namespace detail

// Calls body(first, last) over disjoint ranges that cover [0, count), each a multiple of `grain` long but for the last.
// The body must give the same result for an element whatever the range. Runs in the calling thread when there is one piece.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, Body&& body) {
  if (count <= 0) return;
  using Function = std::remove_reference_t<Body>;
  detail::run_in_pieces(
      count, grain, [](void* context, std::int64_t first, std::int64_t last) { (*static_cast<Function*>(context))(first, last); },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

}  // namespace minitorch
