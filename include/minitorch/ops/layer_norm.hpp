// layer_norm (Ba, Kiros and Hinton, arXiv:1607.06450) and rms_norm (Zhang and Sennrich, arXiv:1910.07467).
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/norm.hpp>
#include <minitorch/ops/composite_grad.hpp>
#include <minitorch/ops/mean.hpp>
#include <minitorch/ops/rsqrt.hpp>
#include <minitorch/ops/sub.hpp>

namespace minitorch {

struct LayerNormOp : Operation<LayerNormOp, Kind::rowwise> {
  using Operation<LayerNormOp, Kind::rowwise>::operator();
  template <Scalar T, Scalar P>
  Tensor<T> operator()(const Tensor<T>& x, const Tensor<P>& weight, const Tensor<P>& bias, double eps = 1e-5) const;
};
// value     (x - mean) rstd weight + bias along the last dimension, rstd = 1 / sqrt(var + eps), statistics in double
// gradient  rstd (g - mean(g) - v mean(g v)) with v = (x - mean) rstd, g = dy weight; the sums over rows of dy v and of dy
// saves     x, weight, mean, rstd
// weight and bias [n] may be undefined, and float beside a half or bfloat16 x; their gradients are then float.
inline constexpr LayerNormOp layer_norm;

struct RmsNormOp : Operation<RmsNormOp, Kind::rowwise> {
  using Operation<RmsNormOp, Kind::rowwise>::operator();
  template <Scalar T, Scalar P>
  Tensor<T> operator()(const Tensor<T>& x, const Tensor<P>& weight, double eps = 1e-5) const;
};
// value     x rstd weight along the last dimension, rstd = 1 / sqrt(mean(x^2) + eps)
// gradient  rstd (g - v mean(g v)) with v = x rstd, g = dy weight; the sum over rows of dy v
// saves     x, weight, rstd
inline constexpr RmsNormOp rms_norm;

namespace detail {

template <Element T>
const T* data_or_null(const Tensor<T>& x) {
  return x.defined() ? x.data() : nullptr;
}
template <Scalar T>
T* writable(const Tensor<T>& x) {
  return x.defined() ? reinterpret_cast<T*>(x.body()->data) : nullptr;
}

template <Scalar T, Scalar P>
void check_norm(const Tensor<T>& x, const Tensor<P>& parameter, const char* operation, const char* name) {
  static_assert(std::same_as<T, P> || (is_narrow<T> && std::same_as<P, float>),
                "norm: x and the parameters must have one scalar type (or half or bfloat16 and float); convert one with .to<U>()");
  if (x.rank() == 0) fail<ShapeError>(operation, ": a scalar has no last dimension");
  if (parameter.defined() && !(parameter.shape() == Shape{x.shape().back()}))
    fail<ShapeError>(operation, ": the ", name, " must have shape [", x.shape().back(), "] for x ", x.shape(), ", got ", parameter.shape());
}

// The definition, in the computed type: the oracle, and the way when backward itself is differentiated.
template <bool Centred, Scalar T, Scalar P>
Tensor<T> composite_norm(const Tensor<T>& x, const Tensor<P>& weight, const Tensor<P>& bias, double eps) {
  using C = compute_t<T>;
  Tensor<C> value = x.template to<C>();
  if constexpr (Centred) value = sub(value, mean(value, -1, true));
  value = mul(value, rsqrt(add(mean(square(value), -1, true), static_cast<C>(eps))));
  if (weight.defined()) value = mul(value, weight.template to<C>());
  if (bias.defined()) value = add(value, bias.template to<C>());
  return value.template to<T>();
}

}  // namespace detail

template <Scalar T, Scalar P>
Tensor<T> LayerNormOp::operator()(const Tensor<T>& x, const Tensor<P>& weight, const Tensor<P>& bias, double eps) const {
  detail::check_norm(x, weight, "layer_norm", "weight");
  detail::check_norm(x, bias, "layer_norm", "bias");
  const std::int64_t n = x.shape().back(), rows = x.shape().product(0, x.rank() - 1);
  Tensor<double> centre = Tensor<double>::empty({rows}), rstd = Tensor<double>::empty({rows});
  return record<T>("layer_norm", x.shape(),
                   filling(
                       [&](T* out) {
                         kernels::layer_norm(rows, n, x.data(), detail::data_or_null(weight), detail::data_or_null(bias), eps, out,
                                             detail::writable(centre), detail::writable(rstd));
                       },
                       centre, rstd),
                   wrt_all(
                       inputs(x, weight, bias),
                       [](const Tensor<T>& dy, const std::array<bool, 3>& wanted, const Tensor<T>& input, const Tensor<P>& w,
                          const Tensor<double>& mu, const Tensor<double>& r, double epsilon,
                          const Tensor<P>& b) -> std::tuple<Tensor<T>, Tensor<compute_t<P>>, Tensor<compute_t<P>>> {
                         const std::int64_t width = input.shape().back();
                         if (grad_enabled()) {
                           const auto f = [epsilon](const Tensor<T>& a, const Tensor<P>& c, const Tensor<P>& d) {
                             return detail::composite_norm<true>(a, c, d, epsilon);
                           };
                           auto [dx, dw, db] = detail::composite_grad(f, dy, input, w, b);
                           const auto wide = [](const Tensor<P>& g) {
                             return g.defined() ? g.template to<compute_t<P>>() : Tensor<compute_t<P>>{};
                           };
                           return {dx, wide(dw), wide(db)};
                         }
                         const Tensor<T> dx = wanted[0] ? Tensor<T>::empty(input.shape()) : Tensor<T>{};
                         const auto dw = wanted[1] ? Tensor<compute_t<P>>::empty({width}) : Tensor<compute_t<P>>{};
                         const auto db = wanted[2] ? Tensor<compute_t<P>>::empty({width}) : Tensor<compute_t<P>>{};
                         kernels::layer_norm_backward(mu.numel(), width, input.data(), detail::data_or_null(w), mu.data(), r.data(),
                                                      dy.data(), detail::writable(dx), detail::writable(dw), detail::writable(db));
                         return {dx, dw, db};
                       },
                       x, weight, centre, rstd, eps, bias));
}

template <Scalar T, Scalar P>
Tensor<T> RmsNormOp::operator()(const Tensor<T>& x, const Tensor<P>& weight, double eps) const {
  detail::check_norm(x, weight, "rms_norm", "weight");
  const std::int64_t n = x.shape().back(), rows = x.shape().product(0, x.rank() - 1);
  Tensor<double> rstd = Tensor<double>::empty({rows});
  return record<T>(
      "rms_norm", x.shape(),
      filling([&](T* out) { kernels::rms_norm(rows, n, x.data(), detail::data_or_null(weight), eps, out, detail::writable(rstd)); }, rstd),
      wrt_all(
          inputs(x, weight),
          [](const Tensor<T>& dy, const std::array<bool, 2>& wanted, const Tensor<T>& input, const Tensor<P>& w, const Tensor<double>& r,
             double epsilon) -> std::tuple<Tensor<T>, Tensor<compute_t<P>>> {
            const std::int64_t width = input.shape().back();
            if (grad_enabled()) {
              const auto f = [epsilon](const Tensor<T>& a, const Tensor<P>& c) {
                return detail::composite_norm<false>(a, c, Tensor<P>{}, epsilon);
              };
              auto [dx, dw] = detail::composite_grad(f, dy, input, w);
              return {dx, dw.defined() ? dw.template to<compute_t<P>>() : Tensor<compute_t<P>>{}};
            }
            const Tensor<T> dx = wanted[0] ? Tensor<T>::empty(input.shape()) : Tensor<T>{};
            const auto dw = wanted[1] ? Tensor<compute_t<P>>::empty({width}) : Tensor<compute_t<P>>{};
            kernels::rms_norm_backward(r.numel(), width, input.data(), detail::data_or_null(w), r.data(), dy.data(), detail::writable(dx),
                                       detail::writable(dw));
            return {dx, dw};
          },
          x, weight, rstd, eps));
}

}  // namespace minitorch
