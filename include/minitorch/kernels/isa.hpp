// The instruction paths of the kernels: what this machine has, and a limit for tests and benchmarks.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <minitorch/core/error.hpp>
#include <minitorch/kernels/amx_permission.hpp>

namespace minitorch::kernels {

// Each path includes the ones before it. `baseline` is what the compiler was told to assume, with vectors of 16 bytes.
enum class Isa { baseline, avx2, avx512, avx512_bf16, amx_bf16 };

inline constexpr std::array<std::string_view, 5> isa_names = {"baseline", "avx2", "avx512", "avx512_bf16", "amx_bf16"};

constexpr std::string_view isa_name(Isa isa) { return isa_names[static_cast<std::size_t>(isa)]; }

namespace detail {

#if defined(__x86_64__)
// The best path of the processor and its operating system.
inline Isa detect_isa() {
  __builtin_cpu_init();
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1) != 0;
  if (!f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::baseline;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl"))
    return Isa::avx2;
  const bool bf16 = __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 5 & 1) != 0;
  if (!bf16) return Isa::avx512;
  const bool amx = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 22 & 1) != 0 && (d >> 24 & 1) != 0;
  return amx && amx_permitted() ? Isa::amx_bf16 : Isa::avx512_bf16;
}
#else
inline Isa detect_isa() { return Isa::baseline; }
#endif

// The machine's path, lowered by the environment variable MINITORCH_ISA. Throws ArgumentError for a value it does not know.
inline Isa initial_isa() {
  const Isa machine = detect_isa();
  const char* wanted = std::getenv("MINITORCH_ISA");
  if (wanted == nullptr) return machine;
  for (std::size_t i = 0; i < isa_names.size(); ++i)
    if (isa_names[i] == wanted) return (std::min)(machine, static_cast<Isa>(i));
  fail<ArgumentError>("MINITORCH_ISA: must be one of baseline, avx2, avx512, avx512_bf16, amx_bf16, got ", wanted);
}

inline constinit std::atomic<int> isa_setting{-1};  // not looked at yet

[[gnu::cold, gnu::noinline]] inline int first_isa() {
  int unknown = -1;
  isa_setting.compare_exchange_strong(unknown, static_cast<int>(initial_isa()));
  return isa_setting.load(std::memory_order_relaxed);
}

}  // namespace detail

// The path that kernels take now.
inline Isa isa() {
  const int setting = detail::isa_setting.load(std::memory_order_relaxed);
  return static_cast<Isa>(setting >= 0 ? setting : detail::first_isa());
}

// Limits the path for the whole process and returns the one taken from now on: the best that the machine has up to `limit`.
inline Isa limit_isa(Isa limit) {
  const Isa taken = (std::min)(limit, detail::initial_isa());
  detail::isa_setting.store(static_cast<int>(taken), std::memory_order_relaxed);
  return taken;
}

}  // namespace minitorch::kernels
