// What happens to finished sums: a bias and the old value of c are added, the result is rounded once and stored.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <minitorch/core/scalar.hpp>
#include <minitorch/kernels/dispatch.hpp>
#include <minitorch/kernels/load_store.hpp>
#include <minitorch/kernels/pack.hpp>

namespace minitorch::kernels {

namespace detail {

// rows x columns sums with sum_row numbers a row; c_row in bytes. bias: one number a column, or null.
template <class Sum>
struct FinishJob {
  const Sum* sums;
  std::int64_t sum_row;
  std::byte* c;
  std::int64_t c_row;
  std::int64_t rows, columns;
  const Sum* bias;
  bool add;
};

template <class Sum, class C>
struct Finisher {
  const FinishJob<Sum>& job;

  template <int Bytes>
  [[gnu::always_inline]] void operator()(std::integral_constant<int, Bytes>) const {
    constexpr std::size_t W = Bytes / sizeof(Sum);
    for (std::int64_t i = 0; i < job.rows; ++i) {
      const Sum* sums = job.sums + i * job.sum_row;
      C* c = reinterpret_cast<C*>(job.c + i * job.c_row);
      std::int64_t j = 0;
      for (; j + std::int64_t{W} <= job.columns; j += std::int64_t{W})
        some<W>(sums + j, job.bias != nullptr ? job.bias + j : nullptr, c + j);
      if (const auto rest = static_cast<std::size_t>(job.columns - j); rest > 0) {
        Sum part[W] = {}, bias[W] = {};
        C old[W] = {};
        std::memcpy(part, sums + j, rest * sizeof(Sum));
        if (job.bias != nullptr) std::memcpy(bias, job.bias + j, rest * sizeof(Sum));
        if (job.add) std::memcpy(static_cast<void*>(old), c + j, rest * sizeof(C));
        some<W>(part, job.bias != nullptr ? bias : nullptr, old);
        std::memcpy(static_cast<void*>(c + j), old, rest * sizeof(C));
      }
    }
  }

  template <std::size_t W>
  [[gnu::always_inline]] void some(const Sum* sums, const Sum* bias, C* c) const {
    using P = Pack<Sum, int{W}>;
    P value = load<P>(sums);
    if (bias != nullptr) value += load<P>(bias);
    if (job.add) value += load<P>(c);
    store(c, value);
  }
};

#if defined(__x86_64__)
// Sums of bfloat16 products made by the processor's own instructions are never subnormal, so its conversion rounds them as narrow() does.
[[gnu::target("avx512f")]] inline void narrow_bf16(bfloat16* to, const float* sums) {
  vector_t<float, 16> value;
  vector_t<std::int16_t, 16> bits;
  __builtin_memcpy(&value, sums, sizeof value);
  asm("vcvtneps2bf16 %1, %0" : "=v"(bits) : "v"(value));
  __builtin_memcpy(static_cast<void*>(to), &bits, sizeof bits);
}

[[gnu::target("avx512f")]] inline void narrow_two_bf16(bfloat16* to, const float* sums) {
  vector_t<float, 16> low, high;
  vector_t<std::int16_t, 32> bits;
  __builtin_memcpy(&low, sums, sizeof low);
  __builtin_memcpy(&high, sums + 16, sizeof high);
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(bits) : "v"(low), "v"(high));
  __builtin_memcpy(static_cast<void*>(to), &bits, sizeof bits);
}

struct Bf16Finisher {
  const FinishJob<float>& job;

  template <int Bytes>
  [[gnu::always_inline]] void operator()(std::integral_constant<int, Bytes> bytes) const {
    if (Bytes != 64 || job.add || job.bias != nullptr) return Finisher<float, bfloat16>{job}(bytes);
    if constexpr (Bytes == 64) {
      for (std::int64_t i = 0; i < job.rows; ++i) {
        const float* sums = job.sums + i * job.sum_row;
        auto* c = reinterpret_cast<bfloat16*>(job.c + i * job.c_row);
        std::int64_t j = 0;
        for (; j + 32 <= job.columns; j += 32) narrow_two_bf16(c + j, sums + j);
        for (; j + 16 <= job.columns; j += 16) narrow_bf16(c + j, sums + j);
        if (j < job.columns) {
          float part[16] = {};
          bfloat16 narrow[16];
          std::memcpy(part, sums + j, static_cast<std::size_t>(job.columns - j) * sizeof(float));
          narrow_bf16(narrow, part);
          std::memcpy(static_cast<void*>(c + j), narrow, static_cast<std::size_t>(job.columns - j) * sizeof(bfloat16));
        }
      }
    }
  }
};

inline void finish_bf16(const FinishJob<float>& job) { dispatch(Bf16Finisher{job}); }
#endif

template <class Sum>
using FinishFunction = void (*)(const FinishJob<Sum>&);

template <class Sum, class C>
void finish(const FinishJob<Sum>& job) {
  dispatch(Finisher<Sum, C>{job});
}

}  // namespace detail

}  // namespace minitorch::kernels
