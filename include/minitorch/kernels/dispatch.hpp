// The trampolines: the only functions that carry a target. What they call is inlined into them and compiled for that target.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <minitorch/kernels/isa.hpp>

namespace minitorch::kernels {

// Calls f(arguments...) and inlines that call, whatever the caller is: how a user's function becomes part of a kernel.
template <class F, class... Arguments>
[[gnu::always_inline, gnu::flatten]] inline decltype(auto) call_inlined(F&& f, Arguments&&... arguments) {
  return f(std::forward<Arguments>(arguments)...);
}

namespace detail {

template <int Bytes>
using vector_bytes = std::integral_constant<int, Bytes>;

// Kernel::run(vector_bytes, job), for each path.
template <class Kernel, class Job>
[[gnu::flatten, gnu::noinline]] void run_baseline(Job& job) {
  Kernel::run(vector_bytes<16>(), job);
}

#if defined(__x86_64__)
template <class Kernel, class Job>
[[gnu::flatten, gnu::noinline, gnu::target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")]] void run_avx2(Job& job) {
  Kernel::run(vector_bytes<32>(), job);
}

template <class Kernel, class Job>
#if defined(__clang__)
[[clang::min_vector_width(512)]]
#endif
[[gnu::flatten, gnu::noinline, gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")]] void
run_avx512(Job& job) {
  Kernel::run(vector_bytes<64>(), job);
}
#endif

struct FunctionKernel {
  template <int Bytes, class F>
  [[gnu::always_inline]] static void run(vector_bytes<Bytes> bytes, F& f) {
    f(bytes);
  }
};

}  // namespace detail

// A kernel as a function of its job, compiled for each path: what is known of it where types are not.
template <class Job>
using AnyKernel = void (*const (&)[isa_names.size()])(Job&);

// Kernel::run(std::integral_constant<int, bytes of a vector>, job) by path. It must be always_inline down to its loops, must not
// open a parallel region, and works on Packs of that many bytes.
#if defined(__x86_64__)
template <class Kernel, class Job>
inline constexpr void (*paths_of[isa_names.size()])(Job&) = {detail::run_baseline<Kernel, Job>, detail::run_avx2<Kernel, Job>,
                                                             detail::run_avx512<Kernel, Job>, detail::run_avx512<Kernel, Job>,
                                                             detail::run_avx512<Kernel, Job>};
#else
template <class Kernel, class Job>
inline constexpr void (*paths_of[isa_names.size()])(Job&) = {detail::run_baseline<Kernel, Job>};
#endif

// The function of the current path.
template <class Job>
void run_kernel(AnyKernel<Job> kernel, Job& job) {
  kernel[static_cast<std::size_t>(isa())](job);
}

// Calls f(std::integral_constant<int, bytes of a vector>) compiled for the current path: for the body of f
// (`[&](auto bytes) __attribute__((always_inline)) {...}`) holds what holds for a kernel.
template <class F>
void dispatch(F&& f) {
  run_kernel(paths_of<detail::FunctionKernel, std::remove_reference_t<F>>, f);
}

}  // namespace minitorch::kernels
