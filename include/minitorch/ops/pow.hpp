// pow and xlogy: powers, and x log(y) with 0 log(0) = 0.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/pow.hpp>
#include <minitorch/ops/log.hpp>
#include <minitorch/ops/masked.hpp>
#include <minitorch/ops/mul.hpp>
#include <minitorch/ops/sub.hpp>

namespace minitorch {

struct Pow : Operation<Pow> {
  using Operation<Pow>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, std::type_identity_t<compute_t<T>> exponent) const;
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, const Tensor<T>& exponent) const;
};
// value     x^e, broadcast; the special values of IEEE 754
// gradient  dy e x^(e - 1), 0 for e = 0; dy y log(x), 0 where y is 0
// saves     x, e, and the result y for e
inline constexpr Pow pow;

struct Xlogy : Operation<Xlogy> {
  using Operation<Xlogy>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, const Tensor<T>& y) const;
};
// value     x log(y), 0 where x is 0
// gradient  dy log(y), dy x / y
// saves     x, y
inline constexpr Xlogy xlogy;

template <Scalar T>
Tensor<T> Pow::operator()(const Tensor<T>& x, std::type_identity_t<compute_t<T>> exponent) const {
  return record<T>("pow", x.shape(),
                   detail::pointwise(
                       [exponent](const auto& v) __attribute__((always_inline)) { return kernels::pow(v, exponent); }, x),
                   wrt(
                       x,
                       [](const Tensor<T>& dy, const Tensor<T>& base, compute_t<T> e) {
                         if (e == 0) return mul(dy, 0);
                         return grad_mul(dy, mul(pow(base, e - 1), e));
                       },
                       x, exponent));
}

template <Scalar T>
Tensor<T> Pow::operator()(const Tensor<T>& x, const Tensor<T>& exponent) const {
  const Shape shape = detail::common_shape(x.shape(), exponent.shape(), "pow");
  return record<T>(
      "pow", shape,
      [&](T* out) {
        detail::map_pair(
            shape, [](const auto& v, const auto& e) __attribute__((always_inline)) { return kernels::pow(v, e); }, out, x, exponent);
      },
      wrt(
          x,
          [](const Tensor<T>& dy, const Tensor<T>& base, const Tensor<T>& e) {
            return grad_mul(dy, grad_mul(e, pow(base, sub(e, 1))));  // 0 for an exponent of 0
          },
          x, exponent),
      wrt(
          exponent, [](const Tensor<T>& dy, const Tensor<T>& base, const Tensor<T>& y) { return grad_mul(dy, grad_mul(y, log(base))); }, x,
          result));
}

template <Scalar T>
Tensor<T> Xlogy::operator()(const Tensor<T>& x, const Tensor<T>& y) const {
  return grad_mul(x, log(y));
}

}  // namespace minitorch
