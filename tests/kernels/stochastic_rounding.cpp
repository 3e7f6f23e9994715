// Stochastic rounding: every value of the narrow types stays, others go to both neighbours as often as they should.
// SPDX-License-Identifier: MIT
#include <minitorch/kernels/stochastic_rounding.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <tests/catch.hpp>

using namespace minitorch;
using kernels::Pack;

namespace {

template <class T>
float rounded(float x, float u) {
  return kernels::round_stochastically<T>(Pack<float, 4>(x), Pack<float, 4>(u))[0];
}

template <class T>
void keeps_what_is_exact() {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto x = static_cast<float>(std::bit_cast<T>(static_cast<std::uint16_t>(bits)));
    for (const float u : {0.f, 0.3f, 0.5f, 0x1.fffffep-1f}) {
      INFO("bits " << bits << ", u " << u);
      if (std::isnan(x))
        REQUIRE(std::isnan(rounded<T>(x, u)));
      else
        REQUIRE(std::bit_cast<std::uint32_t>(rounded<T>(x, u)) == std::bit_cast<std::uint32_t>(x));
    }
  }
}

template <class T>
void goes_both_ways(float low, float high) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (const float part : {0.1f, 0.5f, 0.75f}) {
    const float x = low + part * (high - low);
    int far = 0;
    for (int i = 0; i < 20000; ++i) {
      const float to = rounded<T>(x, (std::min)(uniform(generator), 0x1.fffffep-1f));
      REQUIRE((to == low || to == high));
      far += to == high;
    }
    INFO(low << " to " << high << " at " << part);
    CHECK(far / 20000. == Approx(part).margin(0.015));
  }
}

}  // namespace

TEST_CASE("what the narrow type holds stays") {
  keeps_what_is_exact<bfloat16>();
  keeps_what_is_exact<half>();
}

TEST_CASE("the neighbours are met with the right probability") {
  goes_both_ways<bfloat16>(1, 1 + 0x1p-7f);
  goes_both_ways<bfloat16>(2 - 0x1p-7f, 2);
  goes_both_ways<bfloat16>(-1, -1 - 0x1p-7f);
  goes_both_ways<half>(1, 1 + 0x1p-10f);
  goes_both_ways<half>(0x1p-14f - 0x1p-24f, 0x1p-14f);
  goes_both_ways<half>(0, 0x1p-24f);
  goes_both_ways<half>(-0x1p-20f, -0x1p-20f - 0x1p-24f);
}
