// Adagrad (Duchi et al., 2011) and RMSprop (Hinton, 2012).
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math.hpp>
#include <minitorch/optim/optimizer.hpp>

namespace minitorch::optim {

struct AdagradRule {
  struct Options {
    double lr = 1e-2;
    double lr_decay = 0;
    double weight_decay = 0;
    double eps = 1e-10;
  };
  static constexpr std::array<const char*, 1> states{"sum"};

  static void check(const Options& o) {
    if (!(o.lr >= 0) || !(o.lr_decay >= 0) || !(o.weight_decay >= 0) || !(o.eps >= 0))
      fail<ArgumentError>("Adagrad: lr, lr_decay, weight_decay and eps must not be negative, got ", o.lr, ", ", o.lr_decay, ", ",
                          o.weight_decay, " and ", o.eps);
  }

  // s += g^2; p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps)
  template <class C, class Run>
  static void with_update(const Options& o, std::int64_t step, Run run) {
    const C rate = static_cast<C>(o.lr / (1 + static_cast<double>(step - 1) * o.lr_decay)), decay = static_cast<C>(o.weight_decay);
    const C eps = static_cast<C>(o.eps);
    run(
        std::integral_constant<int, 1>{}, [=](const auto& p, const auto& g, const auto& s) __attribute__((always_inline)) {
          const auto d = g + decay * p;
          const auto sum = s + d * d;
          return std::make_tuple(p - rate * (d / (kernels::sqrt(sum) + eps)), sum);
        });
  }
};

struct RMSpropRule {
  struct Options {
    double lr = 1e-2;
    double alpha = 0.99;
    double eps = 1e-8;
    double weight_decay = 0;
    double momentum = 0;
  };
  static constexpr std::array<const char*, 2> states{"square_avg", "momentum"};

  static void check(const Options& o) {
    if (!(o.lr >= 0) || !(o.alpha >= 0) || !(o.eps >= 0) || !(o.weight_decay >= 0) || !(o.momentum >= 0))
      fail<ArgumentError>("RMSprop: lr, alpha, eps, weight_decay and momentum must not be negative, got ", o.lr, ", ", o.alpha, ", ", o.eps,
                          ", ", o.weight_decay, " and ", o.momentum);
  }

  // s = alpha s + (1 - alpha) g^2; m = momentum m + g / (sqrt(s) + eps); p -= lr m
  template <class C, class Run>
  static void with_update(const Options& o, std::int64_t, Run run) {
    const C lr = static_cast<C>(o.lr), alpha = static_cast<C>(o.alpha), rest = static_cast<C>(1 - o.alpha), eps = static_cast<C>(o.eps);
    const C decay = static_cast<C>(o.weight_decay), momentum = static_cast<C>(o.momentum);
    run(
        std::integral_constant<int, 2>{}, [=](const auto& p, const auto& g, const auto& s, const auto& m) __attribute__((always_inline)) {
          const auto d = g + decay * p;
          const auto square = alpha * s + rest * d * d;
          const auto moved = momentum * m + d / (kernels::sqrt(square) + eps);
          return std::make_tuple(p - lr * moved, square, moved);
        });
  }
};

template <Scalar T>
using Adagrad = Optimizer<T, AdagradRule>;
template <Scalar T>
using RMSprop = Optimizer<T, RMSpropRule>;

}  // namespace minitorch::optim
