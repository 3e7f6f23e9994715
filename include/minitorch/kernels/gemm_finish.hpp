// What happens to finished sums: a bias and the old value of c are added, the result is rounded once and stored.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <minitorch/core/scalar.hpp>
#include <minitorch/kernels/dispatch.hpp>
#include <minitorch/kernels/gemm_narrow.hpp>
#include <minitorch/kernels/load_store.hpp>
#include <minitorch/kernels/pack.hpp>
#include <minitorch/kernels/rows.hpp>

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
    using P = Pack<Sum, int{W}>;
    const FinishJob<Sum> j = job;
    if constexpr (Plain)
      if (j.columns == 2 * std::int64_t{W}) return two_vectors<W>(j.sums, j.c);
    for (std::int64_t i = 0; i < j.rows; ++i) {
      const Sum* sums = j.sums + i * j.sum_row;
      C* c = reinterpret_cast<C*>(j.c + i * j.c_row);
      std::int64_t x = 0;
      for (; x + std::int64_t{W} <= j.columns; x += std::int64_t{W})
        store_product<Flush>(
            c + x, finished<Plain>(load<P>(sums + x), j.bias == nullptr ? P() : load<P>(j.bias + x), j.add ? load<P>(c + x) : P()));
      if (const std::int64_t rest = j.columns - x; rest > 0) {
        const P value = finished<Plain>(load_some<P>(sums + x, rest), j.bias == nullptr ? P() : load_some<P>(j.bias + x, rest),
                                        j.add ? load_some<P>(c + x, rest) : P());
        if constexpr (std::same_as<C, Sum>) {
          store_some(c + x, value, rest);
        } else {
          C lanes[W];
          store_product<Flush>(lanes, value);
          copy_few<int{W / 2}>(c + x, lanes, rest);
        }
      }
    }
  }

  // The rows of nearly all tiles.
  template <std::size_t W>
  [[gnu::always_inline]] void two_vectors(const Sum* sums, std::byte* to) const {
    using P = Pack<Sum, int{W}>;
    const std::int64_t sum_row = job.sum_row, c_row = job.c_row;
#pragma GCC unroll 2
    for (std::int64_t left = job.rows; left > 0; --left, sums += sum_row, to += c_row) {
      store_products<Flush>(reinterpret_cast<C*>(to), load<P>(sums), load<P>(sums + W));
    }
  }

  template <bool Plain, class P>
  [[gnu::always_inline]] P finished(const P& sums, const P& bias, const P& old) const {
    if constexpr (Plain) return sums;
    P value = sums;
    if (job.bias != nullptr) value += bias;
    if (job.add) value += old;
    return value;
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
