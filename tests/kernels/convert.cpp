// Conversions between the stored types: every half and bfloat16, every float around a rounding, on every path.
// SPDX-License-Identifier: MIT
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include <minitorch/kernels/convert.hpp>
#include <tests/catch.hpp>
#include <tests/kernels/paths.hpp>

namespace mt = minitorch;
namespace k = minitorch::kernels;

namespace {

template <class T>
T from_pattern(std::uint16_t bits) {
  return std::bit_cast<T>(bits);
}

template <class T>
std::uint16_t pattern(T number) {
  return std::bit_cast<std::uint16_t>(number);
}

template <class To, class From>
std::vector<To> converted(const std::vector<From>& x) {
  std::vector<To> y(x.size());
  k::convert(static_cast<std::int64_t>(x.size()), y.data(), x.data());
  return y;
}

template <class T>
T narrow(float x) {
  return converted<T>(std::vector<float>{x})[0];
}

float bits(std::uint32_t pattern_of_float) { return std::bit_cast<float>(pattern_of_float); }

// The nearest T by search among the neighbours: nothing of the kernel's arithmetic.
template <class T>
std::uint16_t nearest(double x) {
  const std::uint16_t infinity = std::same_as<T, mt::half> ? 0x7c00 : 0x7f80;
  const auto value = [](std::uint32_t p) {
    return static_cast<double>(static_cast<float>(from_pattern<T>(static_cast<std::uint16_t>(p))));
  };
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double size = std::abs(x);
  std::uint32_t low = 0, high = infinity;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (value(middle) <= size ? low : high) = middle;
  }
  // what infinity stands for when rounding: the next step after the largest number
  const double above = high == infinity ? value(low) + (value(low) - value(low - 1)) : value(high);
  const double down = size - value(low), up = above - size;
  const bool take_low = down < up || (down == up && (low & 1) == 0);
  return static_cast<std::uint16_t>(sign | (size == INFINITY ? infinity : take_low ? low : high));
}

template <class T>
void check_up() {
  std::vector<T> all;
  for (std::uint32_t p = 0; p < 0x10000; ++p) all.push_back(from_pattern<T>(static_cast<std::uint16_t>(p)));
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    const auto wide = converted<float>(all);
    const auto wider = converted<double>(all);
    const auto back = converted<T>(wide), back_from_double = converted<T>(wider);
    int wrong = 0;
    for (std::size_t p = 0; p < all.size(); ++p) {
      const std::uint32_t exponent_bits = std::same_as<T, mt::half> ? 5 : 8, fraction_bits = 15 - exponent_bits;
      const std::uint32_t e = p >> fraction_bits & ((1u << exponent_bits) - 1), f = p & ((1u << fraction_bits) - 1);
      const double sign = p >> 15 != 0 ? -1 : 1;
      const int bias = (1 << (exponent_bits - 1)) - 1;
      if (e == (1u << exponent_bits) - 1 && f != 0) {  // NaN: quiet, payload and sign kept
        const auto expected = static_cast<std::uint16_t>(p | 1u << (fraction_bits - 1));
        wrong += !std::isnan(wide[p]) || !std::isnan(wider[p]) || pattern(back[p]) != expected || std::signbit(wide[p]) != (sign < 0);
        continue;
      }
      const double value = e == (1u << exponent_bits) - 1 ? sign * INFINITY
                           : e == 0
                               ? sign * std::ldexp(f, 1 - bias - static_cast<int>(fraction_bits))
                               : sign * std::ldexp(f + (1u << fraction_bits), static_cast<int>(e) - bias - static_cast<int>(fraction_bits));
      wrong += static_cast<double>(wide[p]) != value || wider[p] != value || std::signbit(wide[p]) != (sign < 0);
      wrong += pattern(back[p]) != p || pattern(back_from_double[p]) != p;
    }
    CHECK(wrong == 0);
  }
}

template <class T>
void check_down() {
  // floats around every number of T and around the midpoints between them, and evenly spread patterns
  std::vector<float> x;
  for (std::uint32_t p = 0; p < 0x10000; ++p) {
    const float value = static_cast<float>(from_pattern<T>(static_cast<std::uint16_t>(p))),
                next = static_cast<float>(from_pattern<T>(static_cast<std::uint16_t>(p + 1)));
    if (std::isnan(value) || std::isnan(next)) continue;
    const float middle = static_cast<float>((static_cast<double>(value) + static_cast<double>(next)) / 2);
    for (float at : {value, middle}) {
      x.push_back(at);
      x.push_back(std::nextafter(at, INFINITY));
      x.push_back(std::nextafter(at, -INFINITY));
    }
  }
  for (std::uint64_t p = 0; p < 1u << 31; p += 30011) x.push_back(bits(static_cast<std::uint32_t>(p)));
  std::vector<double> wider(x.begin(), x.end());
  for (std::size_t i = 0; i + 1 < x.size(); i += 97) wider[i] = std::nextafter(wider[i], INFINITY);
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    const auto from_float = converted<T>(x);
    const auto from_double = converted<T>(wider);
    int wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) {
        wrong += !std::isnan(static_cast<float>(from_float[i])) || !std::isnan(static_cast<float>(from_double[i]));
        continue;
      }
      wrong += pattern(from_float[i]) != nearest<T>(static_cast<double>(x[i]));
      wrong += pattern(from_double[i]) != nearest<T>(wider[i]);
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("every half and bfloat16 converts exactly and comes back") {
  check_up<mt::half>();
  check_up<mt::bfloat16>();
}

TEST_CASE("floats and doubles round to the nearest half and bfloat16") {
  check_down<mt::half>();
  check_down<mt::bfloat16>();
}

TEST_CASE("HP01 HP02 HP03 HP04 HP05 HP06 HP07 conversions of the table") {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    const auto half = [](float x) { return pattern(narrow<mt::half>(x)); };
    const auto bf16 = [](float x) { return pattern(narrow<mt::bfloat16>(x)); };
    CHECK(half(65504) == 0x7bff);
    CHECK(half(65519.996f) == 0x7bff);
    CHECK(half(65520) == 0x7c00);
    CHECK(half(65536) == 0x7c00);
    CHECK(half(0x1p-24f) == 1);
    CHECK(half(0x1p-25f) == 0);
    CHECK(half(std::nextafter(0x1p-25f, 1.0f)) == 1);
    CHECK(half(1.5f * 0x1p-24f) == 2);
    CHECK(static_cast<float>(narrow<mt::half>(1 + 0x1p-11f)) == 1);
    CHECK(static_cast<float>(narrow<mt::half>(1 + 3 * 0x1p-11f)) == 1.001953125f);
    CHECK(static_cast<float>(narrow<mt::half>(2049)) == 2048);
    CHECK(static_cast<float>(narrow<mt::half>(2051)) == 2052);
    CHECK(bf16(bits(0x3f808000)) == 0x3f80);
    CHECK(bf16(bits(0x3f818000)) == 0x3f82);
    CHECK(bf16(bits(0x3f808001)) == 0x3f81);
    CHECK(static_cast<float>(narrow<mt::bfloat16>(257)) == 256);
    CHECK(static_cast<float>(narrow<mt::bfloat16>(259)) == 260);
    CHECK(bf16(bits(0x7f7fffff)) == 0x7f80);
    CHECK(bf16(bits(0x7f7f8000)) == 0x7f80);
    CHECK(bf16(bits(0x7f7f7fff)) == 0x7f7f);
    CHECK(bf16(bits(0x7f800001)) == 0x7fc0);
    CHECK(bf16(bits(0x7fc12345)) == 0x7fc1);
    CHECK(bf16(bits(0xff800001)) == 0xffc0);
    CHECK(bf16(0x1p-130f) == 8);
    CHECK(bf16(bits(0x007fffff)) == 0x80);
  }
}

TEST_CASE("HP08 every lane and the tail keep subnormals") {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    const std::vector<mt::bfloat16> x(37, from_pattern<mt::bfloat16>(8));
    std::vector<mt::bfloat16> y(37);
    k::map(
        37, [](auto a) { return a + 0.0; }, y.data(), x.data());
    CHECK(std::memcmp(x.data(), y.data(), sizeof(x[0]) * 37) == 0);
  }
}

TEST_CASE("integers and bools convert by value") {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    CHECK(converted<std::int64_t>(std::vector<double>{1.9, -1.9, 0x1p60}) == std::vector<std::int64_t>{1, -1, std::int64_t{1} << 60});
    CHECK(converted<float>(std::vector<std::int64_t>{1, -5, 1 << 20}) == std::vector<float>{1, -5, 1 << 20});
    const float x[] = {0, -0.0f, 1, -2, NAN};
    bool b[5];
    k::convert(5, b, x);
    CHECK((!b[0] && !b[1] && b[2] && b[3] && b[4]));
    float back[5];
    k::convert(5, back, b);
    CHECK((back[0] == 0 && back[2] == 1 && back[4] == 1));
  }
}
