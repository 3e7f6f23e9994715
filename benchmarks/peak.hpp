// What one core can do at most: fixed kernels of independent fused multiply-adds, or dot products, on registers alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <minitorch/kernels/dispatch.hpp>
#include <minitorch/kernels/gemm_amx.hpp>
#include <minitorch/kernels/gemm_micro.hpp>
#include <minitorch/kernels/pack.hpp>

namespace bench {

// `rounds` rounds of independent steps whose operands stay in registers.
template <class Arithmetic>
struct PeakKernel {
  std::int64_t rounds;
  double flops = 0, result = 0;

  template <int Bytes>
  [[gnu::always_inline]] void operator()(std::integral_constant<int, Bytes>) {
    namespace kernels = minitorch::kernels;
    using Sum = typename Arithmetic::Sum;
    using Unit = typename Arithmetic::Unit;
    constexpr bool dot = std::is_same_v<Arithmetic, kernels::detail::Bf16Arithmetic>;
    if constexpr (!dot || Bytes == 64) {
      constexpr std::size_t chains = Bytes == 64 ? 24 : 12;
      constexpr int W = Bytes / int{sizeof(Sum)};
      using Sums = kernels::vector_t<Sum, W>;
      using Units = kernels::vector_t<Unit, W>;
      const volatile Unit one = 1, zero = 0;  // volatile: or equal sums would be computed once, and all while compiling
      const volatile Sum start = 1;
      const Units a = one - Units{}, b = zero - Units{};
      Sums sum[chains];
#pragma GCC unroll 24
      for (std::size_t i = 0; i < chains; ++i) sum[i] = start - Sums{};
      for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
        for (std::size_t i = 0; i < chains; ++i) {
          if constexpr (dot)
            kernels::detail::multiply_add(sum[i], a, b);
          else
            sum[i] = sum[i] * a + b;
        }
      }
      for (std::size_t i = 1; i < chains; ++i) sum[0] += sum[i];
      result = static_cast<double>(sum[0][0]);
      flops = static_cast<double>(rounds * std::int64_t{chains} * W * 2 * kernels::detail::unit_elements<Arithmetic>);
    }
  }
};

template <class Arithmetic>
double peak_flops(std::int64_t rounds) {  // floating point operations done
  PeakKernel<Arithmetic> kernel{rounds};
  minitorch::kernels::dispatch(kernel);
  return kernel.result == 0 ? 0 : kernel.flops;
}

#if defined(__x86_64__)
// The same with four tiles of AMX.
inline double peak_flops_amx(std::int64_t rounds) {
  namespace detail = minitorch::kernels::detail;
  const detail::AmxConfiguration tiles;
  for (std::int64_t r = 0; r < rounds; ++r) {
    detail::amx_dot<0, 4, 6>();
    detail::amx_dot<1, 4, 7>();
    detail::amx_dot<2, 5, 6>();
    detail::amx_dot<3, 5, 7>();
  }
  return static_cast<double>(rounds) * 4 * 16 * 16 * 32 * 2;
}
#endif

}  // namespace bench
