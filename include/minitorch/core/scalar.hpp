// The scalar types: what can be differentiated, what can be stored, and in which type sums are kept.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <minitorch/core/eigen.hpp>

namespace minitorch {

using half = Eigen::half;          // IEEE 754 binary16: storage only, arithmetic is float
using bfloat16 = Eigen::bfloat16;  // the upper half of a float: storage only, arithmetic is float

// A scalar that can be differentiated.
template <class T>
concept Scalar = std::same_as<T, double> || std::same_as<T, float> || std::same_as<T, half> || std::same_as<T, bfloat16>;

// A scalar that a tensor can hold: the differentiable ones, int64 for indices and tokens, bool for masks.
template <class T>
concept Element = Scalar<T> || std::same_as<T, std::int64_t> || std::same_as<T, bool>;

// 16-bit floating point: stored narrow, computed in float.
template <class T>
inline constexpr bool is_narrow = std::same_as<T, half> || std::same_as<T, bfloat16>;

// The type in which values of T are computed and summed: float for the narrow types, T itself otherwise.
template <class T>
using compute_t = std::conditional_t<is_narrow<T>, float, T>;

enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, boolean };

template <Element T>
inline constexpr DType dtype_of = std::same_as<T, double>         ? DType::f64
                                  : std::same_as<T, float>        ? DType::f32
                                  : std::same_as<T, half>         ? DType::f16
                                  : std::same_as<T, bfloat16>     ? DType::bf16
                                  : std::same_as<T, std::int64_t> ? DType::i64
                                                                  : DType::boolean;

constexpr std::string_view dtype_name(DType type) {
  switch (type) {
    case DType::f64: return "float64";
    case DType::f32: return "float32";
    case DType::f16: return "float16";
    case DType::bf16: return "bfloat16";
    case DType::i64: return "int64";
    case DType::boolean: return "bool";
  }
  return "?";
}

// Bytes of one element.
constexpr std::int64_t dtype_size(DType type) {
  switch (type) {
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32: return 4;
    case DType::f16:
    case DType::bf16: return 2;
    case DType::boolean: return 1;
  }
  return 0;
}

}  // namespace minitorch
