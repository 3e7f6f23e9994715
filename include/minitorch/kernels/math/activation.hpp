// The activations of neural networks, written once for Packs, dual numbers and plain numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/plain.hpp>

namespace minitorch::kernels {

// max(x, 0); NaN stays NaN.
[[gnu::always_inline]] inline auto relu(const auto& x) { return select(x < 0, std::remove_cvref_t<decltype(x)>(0), x); }

// x, or the bound that it is beyond: a factor beside one that is 0 there, since infinity times 0 is NaN. NaN stays NaN.
[[gnu::always_inline]] inline auto at_least(const auto& x, double bound) {
  using P = std::remove_cvref_t<decltype(x)>;
  return select(x < P(bound), P(bound), x);
}
[[gnu::always_inline]] inline auto within(const auto& x, double bound) {
  using P = std::remove_cvref_t<decltype(x)>;
  return select(x > P(bound), P(bound), at_least(x, -bound));
}

// x times a share that is 0 far below 0 and 1 far above. There x stands alone: a dual's infinity times a slope of 0 is NaN.
[[gnu::always_inline]] inline auto gated(const auto& x, const auto& share) {
  using P = std::remove_cvref_t<decltype(x)>;
  return select(x > P(1e30), x, at_least(x, -1e30) * share);
}

// x times the normal distribution function of x: the exact GELU.
[[gnu::always_inline]] inline auto gelu(const auto& x) { return gated(x, normal_cdf(x)); }

// The derivative of the exact GELU, normal_cdf(x) + x normal_pdf(x): both share one exponential.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> gelu_slope(const Pack<T, W>& x) {
  const Pack<T, W> bell = detail::exp_minus_square(x, 0.5);
  return detail::normal_cdf_of(x, bell) + within(x, 40) * (Pack<T, W>(0.39894228040143267794) * bell);
}

// The form of GPT-2, 0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), written as x sigmoid(2 u).
[[gnu::always_inline]] inline auto gelu_tanh(const auto& x) {
  using P = std::remove_cvref_t<decltype(x)>;
  const auto bounded = minimum(maximum(x, P(-1e3)), P(1e3));
  return gated(x, sigmoid(bounded * (1.5957691216057308 + 0.071354816272600252 * (bounded * bounded))));
}

// x sigmoid(x), also called swish.
[[gnu::always_inline]] inline auto silu(const auto& x) { return gated(x, sigmoid(x)); }

}  // namespace minitorch::kernels
