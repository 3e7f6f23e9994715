// Digits of 8 x 8 pixels: read from a file or generated.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include <minitorch/minitorch.hpp>

namespace examples {

namespace mt = minitorch;

// One picture of every five is held out, the first of the first five, the second of the second: those come last.
inline std::int64_t learned_of(std::int64_t count) { return count - count / 5; }
inline std::int64_t place_of(std::int64_t i, std::int64_t count) {
  const std::int64_t five = i / 5, in = i % 5, held = five == count / 5 ? 5 : five % 5;
  return in == held ? learned_of(count) + five : 4 * five + in - (in > held ? 1 : 0);
}

struct Digits {
  mt::Tensor<float> pixels;         // [count, 64], 0 to 1
  mt::Tensor<std::int64_t> labels;  // [count]
  Digits part(std::int64_t first, std::int64_t last) const { return {pixels.slice(first, last), labels.slice(first, last)}; }
};

// Where Debian's python3-sklearn keeps 1,797 digits that 13 people wrote (E. Alpaydin and C. Kaynak, UCI machine learning repository).
inline constexpr const char* installed_digits = "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz";

// A line for each picture: 64 grey values from 0 to 16 and the label, with commas between them.
inline Digits parse_digits(std::string_view text, const std::string& name) {
  const std::int64_t count = std::ranges::count(text, '\n') + (text.empty() || text.back() == '\n' ? 0 : 1);
  Digits out{mt::Tensor<float>::empty({count, 64}), mt::Tensor<std::int64_t>::empty({count})};
  const char *at = text.data(), *const end = at + text.size();
  for (std::int64_t line = 0; line < count; ++line) {
    const std::int64_t place = place_of(line, count);
    for (int column = 0; column <= 64; ++column, ++at) {
      int value = 0;
      const auto [rest, error] = std::from_chars(at, end, value);
      const bool ends = column == 64 ? rest == end || *rest == '\n' : rest != end && *rest == ',';
      if (error != std::errc() || !ends || value < 0 || value > (column == 64 ? 9 : 16))
        mt::fail<mt::IoError>("digits: ", name, ", line ", line + 1, ": column ", column + 1, " of 65 must be a number from 0 to ",
                              column == 64 ? "9 at the end of the line" : "16 before a comma");
      if (column < 64)
        out.pixels.mutable_data()[place * 64 + column] = static_cast<float>(value) / 16;
      else
        out.labels.mutable_data()[place] = value;
      at = rest;
    }
  }
  return out;
}

// Five rows of three pixels a digit.
inline constexpr std::array<std::string_view, 10> glyphs{"#### ## ## ####", " # ##  #  # ###", "###  #####  ###", "###  ####  ####",
                                                         "# ## ####  #  #", "####  ###  ####", "####  #### ####", "###  #  # #  # ",
                                                         "#### ##### ####", "#### ####  ####"};

// Each picture is a function of seed and index: a digit somewhere in the picture, in some brightness, below noise.
inline Digits generate_digits(std::int64_t count, std::uint64_t seed, double noise) {
  const mt::train::Draws draw(seed, 0x646967697473);
  Digits out{mt::Tensor<float>::empty({count, 64}), mt::Tensor<std::int64_t>::empty({count})};
  for (std::int64_t i = 0; i < count; ++i) {
    float* pixel = out.pixels.mutable_data() + place_of(i, count) * 64;
    const auto at = [&](std::uint64_t which) { return static_cast<std::uint64_t>(i) * 128 + which; };
    const std::int64_t label = draw.below(at(0), 10), down = draw.below(at(1), 4), right = draw.below(at(2), 6);
    const double bright = 0.6 + 0.4 * draw.uniform(at(3));
    out.labels.mutable_data()[place_of(i, count)] = label;
    for (std::uint64_t p = 0; p < 64; ++p) pixel[p] = static_cast<float>(noise * draw.uniform(at(16 + p)));
    for (std::int64_t p = 0; p < 15; ++p)
      if (glyphs[static_cast<std::size_t>(label)][static_cast<std::size_t>(p)] == '#')
        pixel[(p / 3 + down) * 8 + p % 3 + right] += static_cast<float>(bright);
  }
  return out;
}

}  // namespace examples
