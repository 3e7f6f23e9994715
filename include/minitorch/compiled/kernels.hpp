// The kernels that are compiled once: products.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/gemm.hpp>

namespace minitorch::kernels::detail {

extern template void multiply<DoubleArithmetic>(const Problem<double>&);
extern template void multiply<FloatArithmetic>(const Problem<float>&);
#if defined(__x86_64__)
extern template void multiply<Bf16Arithmetic>(const Problem<float>&);
extern template void multiply<AmxArithmetic>(const Problem<float>&);
#endif

}  // namespace minitorch::kernels::detail
