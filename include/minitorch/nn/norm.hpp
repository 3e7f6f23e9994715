// LayerNorm and RMSNorm along the last dimension.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

#include <minitorch/nn/init.hpp>
#include <minitorch/nn/module.hpp>
#include <minitorch/ops/layer_norm.hpp>

namespace minitorch::nn {

template <Scalar T>
class LayerNorm : detail::MoveOnly {
 public:
  Tensor<T> weight, bias;  // [dim]: ones and zeros at first
  double eps;

  explicit LayerNorm(std::int64_t dim, double epsilon = 1e-5)
      : weight(parameter<T>({dim}, Init::constant(1))), bias(parameter<T>({dim}, Init::constant(0))), eps(epsilon) {}
  LayerNorm(Tensor<T> w, Tensor<T> b, double epsilon = 1e-5) : weight(std::move(w)), bias(std::move(b)), eps(epsilon) {}

  LayerNorm clone() const { return LayerNorm(detail::Cloner::copy(weight), detail::Cloner::copy(bias), eps); }

  template <class X>
  auto operator()(const X& x) const {
    return layer_norm(x, weight, bias, eps);
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight);
    v("bias", bias);
  }
};

template <Scalar T>
class RMSNorm : detail::MoveOnly {
 public:
  Tensor<T> weight;  // [dim]: ones at first
  double eps;

  explicit RMSNorm(std::int64_t dim, double epsilon = 1e-5) : weight(parameter<T>({dim}, Init::constant(1))), eps(epsilon) {}
  explicit RMSNorm(Tensor<T> w, double epsilon = 1e-5) : weight(std::move(w)), eps(epsilon) {}

  RMSNorm clone() const { return RMSNorm(detail::Cloner::copy(weight), eps); }

  template <class X>
  auto operator()(const X& x) const {
    return rms_norm(x, weight, eps);
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight);
  }
};

}  // namespace minitorch::nn
