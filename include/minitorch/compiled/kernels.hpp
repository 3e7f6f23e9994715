// The kernels that are compiled once: products, reductions, random numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/gemm.hpp>
#include <minitorch/kernels/random.hpp>
#include <minitorch/kernels/reduce.hpp>

namespace minitorch::kernels {

extern template void reduce<Sum>(std::int64_t, std::int64_t, std::int64_t, const double*, double*, double);
extern template void reduce<Sum>(std::int64_t, std::int64_t, std::int64_t, const float*, float*, double);
extern template void reduce<Max>(std::int64_t, std::int64_t, std::int64_t, const double*, double*, double);
extern template void reduce<Max>(std::int64_t, std::int64_t, std::int64_t, const float*, float*, double);
extern template void reduce<Min>(std::int64_t, std::int64_t, std::int64_t, const double*, double*, double);
extern template void reduce<Min>(std::int64_t, std::int64_t, std::int64_t, const float*, float*, double);
extern template void reduce<SumSquares>(std::int64_t, std::int64_t, std::int64_t, const double*, double*, double);
extern template void reduce<SumSquares>(std::int64_t, std::int64_t, std::int64_t, const float*, double*, double);
extern template void fill_uniform(const Window&, RandomKey, double, double, double*);
extern template void fill_uniform(const Window&, RandomKey, double, double, float*);
extern template void fill_normal(const Window&, RandomKey, double, double, double*);
extern template void fill_normal(const Window&, RandomKey, double, double, float*);

}  // namespace minitorch::kernels

namespace minitorch::kernels::detail {

extern template void multiply<DoubleArithmetic>(const Problem<DoubleArithmetic>&);
extern template void multiply<FloatArithmetic>(const Problem<FloatArithmetic>&);
#if defined(__x86_64__)
extern template void multiply<Bf16Arithmetic>(const Problem<Bf16Arithmetic>&);
extern template void multiply<AmxArithmetic>(const Problem<AmxArithmetic>&);
#endif

}  // namespace minitorch::kernels::detail
