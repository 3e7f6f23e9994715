// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019).
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include <minitorch/kernels/math.hpp>
#include <minitorch/optim/optimizer.hpp>

namespace minitorch::optim {

namespace detail {

// What both share: Decoupled says where the weight decay acts.
template <bool Decoupled>
struct AdamFamily {
  struct Options {
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = Decoupled ? 0.01 : 0.0;  // AdamW: of the parameter itself; Adam: L2, added to the gradient
    bool amsgrad = false;                          // Reddi et al., 2018: divide by the largest second moment so far
    bool maximize = false;
  };
  static constexpr std::array<const char*, 3> states{"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};

  static void check(const Options& o) {
    const char* name = Decoupled ? "AdamW" : "Adam";
    if (!(o.lr >= 0) || !(o.eps >= 0) || !(o.weight_decay >= 0))
      fail<ArgumentError>(name, ": lr, eps and weight_decay must not be negative, got ", o.lr, ", ", o.eps, " and ", o.weight_decay);
    if (!(o.beta1 >= 0 && o.beta1 < 1 && o.beta2 >= 0 && o.beta2 < 1))
      fail<ArgumentError>(name, ": the betas must be in [0, 1), got ", o.beta1, " and ", o.beta2);
  }

  // m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; p -= lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps).
  template <class C, class Run>
  static void with_update(const Options& o, std::int64_t step, Run run) {
    const double t = static_cast<double>(step);
    const C rate = static_cast<C>(o.lr / (1 - std::pow(o.beta1, t))), root = static_cast<C>(1 / std::sqrt(1 - std::pow(o.beta2, t)));
    const C beta1 = static_cast<C>(o.beta1), rest1 = static_cast<C>(1 - o.beta1), beta2 = static_cast<C>(o.beta2);
    const C rest2 = static_cast<C>(1 - o.beta2), eps = static_cast<C>(o.eps), sign = o.maximize ? C(-1) : C(1);
    const C shrink = Decoupled ? static_cast<C>(1 - o.lr * o.weight_decay) : C(1);
    const C decay = Decoupled ? C(0) : static_cast<C>(o.weight_decay);
    const auto moments = [=](const auto& p, const auto& g, const auto& m, const auto& v) __attribute__((always_inline)) {
      const auto d = sign * g + decay * p;
      return std::make_tuple(beta1 * m + rest1 * d, beta2 * v + rest2 * d * d);
    };
    const auto moved = [=](const auto& p, const auto& m, const auto& v) __attribute__((always_inline)) {
      return shrink * p - rate * (m / (kernels::sqrt(v) * root + eps));
    };
    if (!o.amsgrad)
      return run(
          std::integral_constant<int, 2>{}, [=](const auto& p, const auto& g, const auto& m, const auto& v) __attribute__((always_inline)) {
            const auto [next_m, next_v] = moments(p, g, m, v);
            return std::make_tuple(moved(p, next_m, next_v), next_m, next_v);
          });
    run(
        std::integral_constant<int, 3>{}, [=](const auto& p, const auto& g, const auto& m, const auto& v, const auto& largest)
                                              __attribute__((always_inline)) {
                                                const auto [next_m, next_v] = moments(p, g, m, v);
                                                const auto next_largest = kernels::maximum(largest, next_v);
                                                return std::make_tuple(moved(p, next_m, next_largest), next_m, next_v, next_largest);
                                              });
  }
};

}  // namespace detail

using AdamRule = detail::AdamFamily<false>;
using AdamWRule = detail::AdamFamily<true>;

template <Scalar T>
using Adam = Optimizer<T, AdamRule>;
template <Scalar T>
using AdamW = Optimizer<T, AdamWRule>;

}  // namespace minitorch::optim
