// What combines the values of ranks, compiled once.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/tree.hpp>

namespace minitorch::comm::detail {

extern template void sum_floats<double>(const void* const*, int, std::int64_t, std::int64_t, void*, bool);
extern template void sum_floats<float>(const void* const*, int, std::int64_t, std::int64_t, void*, bool);
extern template void sum_floats<half>(const void* const*, int, std::int64_t, std::int64_t, void*, bool);
extern template void sum_floats<bfloat16>(const void* const*, int, std::int64_t, std::int64_t, void*, bool);
extern template void sum_for_all<double>(const void* const*, int, std::int64_t, std::int64_t, void* const*);
extern template void sum_for_all<float>(const void* const*, int, std::int64_t, std::int64_t, void* const*);
extern template void sum_for_all<half>(const void* const*, int, std::int64_t, std::int64_t, void* const*);
extern template void sum_for_all<bfloat16>(const void* const*, int, std::int64_t, std::int64_t, void* const*);
extern template void extreme<double>(bool, const void* const*, int, std::int64_t, std::int64_t, void*);
extern template void extreme<float>(bool, const void* const*, int, std::int64_t, std::int64_t, void*);
extern template void extreme<half>(bool, const void* const*, int, std::int64_t, std::int64_t, void*);
extern template void extreme<bfloat16>(bool, const void* const*, int, std::int64_t, std::int64_t, void*);
extern template void extreme<std::int64_t>(bool, const void* const*, int, std::int64_t, std::int64_t, void*);
extern template void extreme<std::int32_t>(bool, const void* const*, int, std::int64_t, std::int64_t, void*);
extern template void extreme<std::uint8_t>(bool, const void* const*, int, std::int64_t, std::int64_t, void*);
extern template void wrapping_sum<std::uint64_t>(const void* const*, int, std::int64_t, std::int64_t, void*);
extern template void wrapping_sum<std::uint32_t>(const void* const*, int, std::int64_t, std::int64_t, void*);
extern template void wrapping_sum<std::uint8_t>(const void* const*, int, std::int64_t, std::int64_t, void*);
extern template void bitwise<true>(const void* const*, int, std::int64_t, std::int64_t, void*);
extern template void bitwise<false>(const void* const*, int, std::int64_t, std::int64_t, void*);

}  // namespace minitorch::comm::detail
