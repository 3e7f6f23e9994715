// What anomaly mode asks of every result.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include <minitorch/autograd/any_tensor.hpp>

namespace minitorch {

namespace detail {

// The name of the first of the numbers that is not finite, which only those are that have all bits of the exponent set; or null.
template <class Bits>
const char* first_not_finite(std::span<const std::byte> numbers, Bits exponent) {
  for (std::size_t at = 0; at < numbers.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, &numbers[at], sizeof bits);
    if ((bits & exponent) != exponent) continue;
    const auto doubled = static_cast<Bits>(bits << 1), infinity = static_cast<Bits>(exponent << 1);
    return doubled != infinity ? "nan" : bits == exponent ? "inf" : "-inf";
  }
  return nullptr;
}

}  // namespace detail

// Throws GraphError, in the name of what computed it, if `values` holds a NaN or an infinity.
inline void check_finite(std::string_view name, const AnyTensor& values) {
  const char* found = nullptr;
  switch (values.dtype()) {
    case DType::f64: found = detail::first_not_finite<std::uint64_t>(values.data(), 0x7ff0'0000'0000'0000); break;
    case DType::f32: found = detail::first_not_finite<std::uint32_t>(values.data(), 0x7f80'0000); break;
    case DType::f16: found = detail::first_not_finite<std::uint16_t>(values.data(), 0x7c00); break;
    case DType::bf16: found = detail::first_not_finite<std::uint16_t>(values.data(), 0x7f80); break;
    case DType::i64:
    case DType::boolean: break;
  }
  if (found != nullptr) fail<GraphError>(name, ": the result of shape ", values.shape(), " holds ", found);
}

}  // namespace minitorch
