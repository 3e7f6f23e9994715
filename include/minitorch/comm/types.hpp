// What a collective can move and how it can combine: element types, reductions, verbs and their names.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <minitorch/core/scalar.hpp>

namespace minitorch {

// How values of several ranks become one. Sums are kept in float for the narrow types and rounded once; average divides the sum.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // sum is an operation on tensors as well
enum class Reduction : std::uint8_t { sum, average, min, max, bit_and, bit_or };
#pragma GCC diagnostic pop

namespace comm {

// An element type as ranks describe it to each other.
enum class WireType : std::uint8_t { f64, f32, f16, bf16, i64, i32, u8, boolean, byte };

template <class T>
concept WireElement = Element<T> || std::same_as<T, std::int32_t> || std::same_as<T, std::uint8_t> || std::same_as<T, std::byte>;

template <WireElement T>
inline constexpr WireType wire_type_of = std::same_as<T, double>         ? WireType::f64
                                         : std::same_as<T, float>        ? WireType::f32
                                         : std::same_as<T, half>         ? WireType::f16
                                         : std::same_as<T, bfloat16>     ? WireType::bf16
                                         : std::same_as<T, std::int64_t> ? WireType::i64
                                         : std::same_as<T, std::int32_t> ? WireType::i32
                                         : std::same_as<T, std::uint8_t> ? WireType::u8
                                         : std::same_as<T, bool>         ? WireType::boolean
                                                                         : WireType::byte;

constexpr std::int64_t wire_size(WireType type) {
  switch (type) {
    case WireType::f64:
    case WireType::i64: return 8;
    case WireType::f32:
    case WireType::i32: return 4;
    case WireType::f16:
    case WireType::bf16: return 2;
    case WireType::u8:
    case WireType::boolean:
    case WireType::byte: return 1;
  }
  return 1;
}

constexpr std::string_view name_of(WireType type) {
  constexpr std::string_view names[] = {"float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "byte"};
  return names[static_cast<std::size_t>(type)];
}

constexpr std::string_view name_of(Reduction reduction) {
  constexpr std::string_view names[] = {"sum", "average", "min", "max", "and", "or"};
  return names[static_cast<std::size_t>(reduction)];
}

constexpr bool is_floating(WireType type) { return type <= WireType::bf16; }

// Whether a reduction means something for a type: bytes have no arithmetic, bool has no sum, integers have no average.
constexpr bool supports(Reduction reduction, WireType type) {
  if (type == WireType::byte) return false;
  switch (reduction) {
    case Reduction::sum: return type != WireType::boolean;
    case Reduction::average: return is_floating(type);
    case Reduction::min:
    case Reduction::max: return true;
    case Reduction::bit_and:
    case Reduction::bit_or: return !is_floating(type);
  }
  return false;
}

enum class Verb : std::uint8_t {
  barrier,
  broadcast,
  reduce,
  all_reduce,
  gather,
  all_gather,
  scatter,
  reduce_scatter,
  send,
  split,
  invalid
};

inline constexpr int verb_count = 11;

constexpr std::string_view name_of(Verb verb) {
  constexpr std::string_view names[] = {"barrier",
                                        "broadcast",
                                        "reduce",
                                        "all_reduce",
                                        "gather",
                                        "all_gather",
                                        "scatter",
                                        "reduce_scatter",
                                        "send",
                                        "split",
                                        "a call with invalid arguments"};
  return names[static_cast<std::size_t>(verb)];
}

// Every verb but barrier and split computes values at the indices [0, count) of one index space. A value is the reduction over
// all ranks, or is copied from the rank that owns the index, or from the root; it goes to all ranks, the owner or the root.
enum class From : std::uint8_t { all, owner, root };
enum class To : std::uint8_t { all, owner, root };

constexpr From from(Verb verb) {
  switch (verb) {
    case Verb::reduce:
    case Verb::all_reduce:
    case Verb::reduce_scatter: return From::all;
    case Verb::gather:
    case Verb::all_gather:
    case Verb::split: return From::owner;
    default: return From::root;
  }
}

constexpr To to(Verb verb) {
  switch (verb) {
    case Verb::reduce:
    case Verb::gather: return To::root;
    case Verb::scatter:
    case Verb::reduce_scatter: return To::owner;
    default: return To::all;
  }
}

constexpr bool reduces(Verb verb) { return from(verb) == From::all; }
constexpr bool has_root(Verb verb) { return verb != Verb::barrier && (from(verb) == From::root || to(verb) == To::root); }

}  // namespace comm
}  // namespace minitorch
