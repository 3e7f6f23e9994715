// The trampolines: the only functions that carry a target. What they call is inlined into them and compiled for that target.
// SPDX-License-Identifier: MIT
#pragma once

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

template <class F>
[[gnu::flatten, gnu::noinline]] void run_baseline(F& f) {
  f(vector_bytes<16>());
}

#if defined(__x86_64__)
template <class F>
[[gnu::flatten, gnu::noinline, gnu::target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")]] void run_avx2(F& f) {
  f(vector_bytes<32>());
}

template <class F>
#if defined(__clang__)
[[clang::min_vector_width(512)]]
#endif
[[gnu::flatten, gnu::noinline, gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")]] void
run_avx512(F& f) {
  f(vector_bytes<64>());
}
#endif

}  // namespace detail

// Calls f(std::integral_constant<int, bytes of a vector>) compiled for the current path. The body of f must be always_inline
// down to its loops (`[&](auto bytes) __attribute__((always_inline)) {...}`), must not open a parallel region, and works on
// Packs of that many bytes.
template <class F>
void dispatch(F&& f) {
#if defined(__x86_64__)
  switch (isa()) {
    case Isa::amx_bf16:
    case Isa::avx512_bf16:
    case Isa::avx512: return detail::run_avx512(f);
    case Isa::avx2: return detail::run_avx2(f);
    case Isa::baseline: break;
  }
#endif
  detail::run_baseline(f);
}

}  // namespace minitorch::kernels
