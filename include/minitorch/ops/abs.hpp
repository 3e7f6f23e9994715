// abs and sign.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/factories.hpp>
#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/kernels/math/basic.hpp>
#include <minitorch/ops/grad_mul.hpp>

namespace minitorch {

struct Sign : Operation<Sign, Kind::elementwise> {
  using Operation<Sign, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     -1, 0 or 1; NaN stays NaN
// gradient  0
// saves     nothing
inline constexpr Sign sign;

struct Abs : Operation<Abs, Kind::elementwise> {
  using Operation<Abs, Kind::elementwise>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x) const;
};
// value     the magnitude
// gradient  dy sign(x): 0 at 0
// saves     x
inline constexpr Abs abs;

namespace detail {
template <class P>
[[gnu::always_inline]] inline P sign_of(const P& x) {
  return select(x > P(0), P(1), select(x < P(0), P(-1), x));
}
}  // namespace detail

template <Scalar T>
Tensor<T> Sign::operator()(const Tensor<T>& x) const {
  return record<T>("sign", x.shape(), detail::pointwise([](const auto& v) { return detail::sign_of(v); }, x),
                   wrt(x, [](const Tensor<T>& dy) { return zeros_like(dy); }));
}

template <Scalar T>
Tensor<T> Abs::operator()(const Tensor<T>& x) const {
  return record<T>("abs", x.shape(), detail::pointwise([](const auto& v) { return kernels::abs(v); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& input) {
                         if (grad_enabled()) return grad_mul(dy, sign(input));
                         return detail::fused_grad(
                             "abs gradient", [](const auto& g, const auto& v) { return detail::scaled(g, detail::sign_of(v)); }, dy, input);
                       },
                       x));
}

}  // namespace minitorch
