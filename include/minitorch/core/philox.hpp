// Philox 4x32-10, a counter-based generator: 128 random bits as a pure function of a counter and a key.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace minitorch {

// The 64-bit product of two 32-bit numbers. Packs have their own, found by argument-dependent lookup.
constexpr std::uint64_t multiply_words(std::uint64_t a, std::uint64_t b) { return a * b; }

// Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011). Lane is std::uint64_t, or a Pack of them
// to make many blocks at once; each lane holds 32 bits.
template <class Lane>
[[gnu::always_inline]] constexpr void philox(std::array<Lane, 4>& counter, std::uint64_t key) {
  const Lane low(std::uint64_t{0xffffffff}), factor0(std::uint64_t{0xD2511F53}), factor1(std::uint64_t{0xCD9E8D57});
  const Lane step0(std::uint64_t{0x9E3779B9}), step1(std::uint64_t{0xBB67AE85});
  Lane key0(key & 0xffffffff), key1(key >> 32), a = counter[0], b = counter[1], c = counter[2], d = counter[3];
  for (int round = 0; round < 10; ++round) {
    const Lane product0 = multiply_words(a, factor0), product1 = multiply_words(c, factor1);
    a = (product1 >> 32) ^ b ^ key0;
    b = product1 & low;
    c = (product0 >> 32) ^ d ^ key1;
    d = product0 & low;
    key0 = (key0 + step0) & low;
    key1 = (key1 + step1) & low;
  }
  counter = {a, b, c, d};
}

}  // namespace minitorch
