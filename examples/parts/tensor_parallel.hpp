// What the tensor parallel examples share: numbers, differences and models that start alike on every rank.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <minitorch/parallel.hpp>

namespace examples {

namespace mt = minitorch;
namespace mp = minitorch::parallel;

inline constexpr std::uint64_t model_seed = 7;

// Standard normal numbers that depend on the shape and the seed alone: the same on every rank.
inline mt::Tensor<double> normal_numbers(const mt::Shape& shape, std::uint64_t seed) {
  return mt::compute<double>("normal", shape, [&](double* out) {
    mt::kernels::fill_normal(mt::kernels::Window::whole(shape), {seed, 0}, 0, 1, out);
  });
}

inline double largest(const mt::Tensor<double>& x) {
  double most = 0;
  for (double value : x.values()) most = std::max(most, std::abs(value));
  return most;
}

inline double largest_difference(const mt::Tensor<double>& a, const mt::Tensor<double>& b) {
  return mt::no_grad([&] { return largest(a - b); });
}

// The largest of what the ranks found.
inline double most_of(const std::vector<double>& ranks) { return *std::max_element(ranks.begin(), ranks.end()); }

}  // namespace examples
