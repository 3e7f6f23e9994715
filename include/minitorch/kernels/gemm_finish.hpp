// What happens to finished sums: a bias and the old value of c are added, the result is rounded once and stored.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <minitorch/core/scalar.hpp>
#include <minitorch/kernels/dispatch.hpp>
#include <minitorch/kernels/gemm_narrow.hpp>
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

// Flush: c is bfloat16 and its subnormal results may become zero, as they do in the products that are being finished.
template <class Sum, class C, bool Flush>
struct Finisher {
  const FinishJob<Sum>& job;

  template <int Bytes>
  [[gnu::always_inline]] void operator()(std::integral_constant<int, Bytes>) const {
    constexpr std::size_t W = Bytes / sizeof(Sum);
    if (job.bias == nullptr && !job.add)
      rows<W, true>();
    else
      rows<W, false>();
  }

  // Plain: without bias and old value.
  template <std::size_t W, bool Plain>
  [[gnu::always_inline]] void rows() const {
    const FinishJob<Sum> j = job;
    for (std::int64_t i = 0; i < j.rows; ++i) {
      const Sum* sums = j.sums + i * j.sum_row;
      C* c = reinterpret_cast<C*>(j.c + i * j.c_row);
      std::int64_t x = 0;
      for (; x + std::int64_t{W} <= j.columns; x += std::int64_t{W})
        some<W, Plain>(sums + x, j.bias == nullptr ? nullptr : j.bias + x, c + x);
      if (const auto rest = static_cast<std::size_t>(j.columns - x); rest > 0) {
        Sum part[W] = {}, bias[W] = {};
        C old[W] = {};
        std::memcpy(part, sums + x, rest * sizeof(Sum));
        if (j.bias != nullptr) std::memcpy(bias, j.bias + x, rest * sizeof(Sum));
        if (j.add) std::memcpy(static_cast<void*>(old), c + x, rest * sizeof(C));
        some<W, Plain>(part, j.bias == nullptr ? nullptr : bias, old);
        std::memcpy(static_cast<void*>(c + x), old, rest * sizeof(C));
      }
    }
  }

  template <std::size_t W, bool Plain>
  [[gnu::always_inline]] void some(const Sum* sums, const Sum* bias, C* c) const {
    using P = Pack<Sum, int{W}>;
    P value = load<P>(sums);
    if constexpr (!Plain) {
      if (bias != nullptr) value += load<P>(bias);
      if (job.add) value += load<P>(c);
    }
    store_product<Flush>(c, value);
  }
};

template <class Sum>
using FinishFunction = void (*)(const FinishJob<Sum>&);

template <class Sum, class C, bool Flush>
void finish(const FinishJob<Sum>& job) {
  dispatch(Finisher<Sum, C, Flush>{job});
}

}  // namespace detail

}  // namespace minitorch::kernels
