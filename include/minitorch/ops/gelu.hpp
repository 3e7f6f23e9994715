// gelu: the Gaussian error linear unit, exact and in the form with tanh (Hendrycks and Gimpel, arXiv:1606.08415).
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/activation.hpp>
#include <minitorch/ops/clamp.hpp>
#include <minitorch/ops/normal.hpp>
#include <minitorch/ops/sigmoid.hpp>

namespace minitorch {

struct Gelu : Operation<Gelu, Kind::elementwise> {
  using Operation<Gelu, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     x Phi(x), where Phi is the normal distribution function, accurate in the left tail
// gradient  dy (Phi(x) + x phi(x))
// saves     x
inline constexpr Gelu gelu;

struct GeluTanh : Operation<GeluTanh, Kind::elementwise> {
  using Operation<GeluTanh, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     x s with s = sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3): x (1 + tanh(u)) / 2, the form of GPT-2
// gradient  dy s (1 + 2 x (1 - s) du/dx)
// saves     x
inline constexpr GeluTanh gelu_tanh;

namespace detail {

inline constexpr double gelu_slope = 1.5957691216057307117;  // 2 sqrt(2 / pi)
inline constexpr double gelu_cubic = 0.044715;

// Beyond, the slopes are 0 and 1 in every type, and x or x^3 would make NaN of a zero beside it.
inline constexpr double gelu_bound = 40;
template <class P>
[[gnu::always_inline]] inline P gelu_sigmoid(const P& x) {
  return kernels::sigmoid(P(gelu_slope) * (x + P(gelu_cubic) * (x * x * x)));
}

}  // namespace detail

template <Scalar T>
Tensor<T> Gelu::operator()(const Tensor<T>& x) const {
  return record<T>(
      "gelu", x.shape(),
      detail::pointwise(
          [](const auto& v) __attribute__((always_inline)) { return kernels::gelu(v); }, x),
      wrt(
          x,
          [](const Tensor<T>& dy, const Tensor<T>& input) {
            if (grad_enabled())
              return grad_mul(dy, add(normal_cdf(input), mul(clamp(input, -detail::gelu_bound, detail::gelu_bound), normal_pdf(input))));
            return detail::fused_grad(
                "gelu gradient",
                [](const auto& g, const auto& v) __attribute__((always_inline)) { return detail::scaled(g, kernels::gelu_slope(v)); }, dy,
                input);
          },
          x));
}

template <Scalar T>
Tensor<T> GeluTanh::operator()(const Tensor<T>& x) const {
  return record<T>("gelu_tanh", x.shape(),
                   detail::pointwise(
                       [](const auto& v) __attribute__((always_inline)) { return kernels::gelu_tanh(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& input) {
                         using C = compute_t<T>;
                         constexpr auto slope = static_cast<C>(detail::gelu_slope), cubic = static_cast<C>(detail::gelu_cubic);
                         if (grad_enabled()) {
                           const Tensor<T> v = clamp(input, -detail::gelu_bound, detail::gelu_bound);
                           const Tensor<T> s = sigmoid(mul(add(v, mul(mul(square(v), v), cubic)), slope));
                           const Tensor<T> inner = mul(add(mul(square(v), 3 * cubic), 1), slope);
                           return grad_mul(dy, mul(s, add(mul(mul(v, sub(1, s)), inner), 1)));
                         }
                         return detail::fused_grad(
                             "gelu_tanh gradient", [](const auto& g, const auto& raw) __attribute__((always_inline)) {
                               const auto a = kernels::within(raw, detail::gelu_bound), s = detail::gelu_sigmoid(a);
                               return detail::scaled(g, s * (1 + a * (1 - s) * (slope * (1 + 3 * cubic * (a * a)))));
                             },
                             dy, input);
                       },
                       x));
}

}  // namespace minitorch
