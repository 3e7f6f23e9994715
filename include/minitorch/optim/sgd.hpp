// Stochastic gradient descent: plain, with momentum, Nesterov's, with weight decay.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/optim/optimizer.hpp>

namespace minitorch::optim {

struct SGDRule {
  struct Options {
    double lr = 1e-3;
    double momentum = 0;
    double dampening = 0;
    double weight_decay = 0;  // L2: added to the gradient
    bool nesterov = false;
    bool maximize = false;
  };
  static constexpr std::array<const char*, 1> states{"momentum"};

  static void check(const Options& o) {
    if (!(o.lr >= 0) || !(o.momentum >= 0) || !(o.weight_decay >= 0))
      fail<ArgumentError>("SGD: lr, momentum and weight_decay must not be negative, got ", o.lr, ", ", o.momentum, " and ", o.weight_decay);
    if (o.nesterov && (o.momentum == 0 || o.dampening != 0))
      fail<ArgumentError>("SGD: nesterov needs a momentum and no dampening, got ", o.momentum, " and ", o.dampening);
  }

  // g += decay p; m = g at first, else momentum m + (1 - dampening) g; p -= lr m, or lr (g + momentum m) with nesterov.
  template <class C, class Run>
  static void with_update(const Options& o, std::int64_t step, Run run) {
    const C lr = static_cast<C>(o.lr), decay = static_cast<C>(o.weight_decay), sign = o.maximize ? C(-1) : C(1);
    if (o.momentum == 0)
      return run(
          std::integral_constant<int, 0>{}, [=](const auto& p, const auto& g) __attribute__((always_inline)) {
            return std::make_tuple(p - lr * (sign * g + decay * p));
          });
    const C momentum = static_cast<C>(o.momentum), share = step == 1 ? C(1) : static_cast<C>(1 - o.dampening);
    // p -= lr (of_g g + of_m m)
    const C of_g = o.nesterov ? C(1) : C(0), of_m = o.nesterov ? momentum : C(1);
    run(
        std::integral_constant<int, 1>{}, [=](const auto& p, const auto& g, const auto& m) __attribute__((always_inline)) {
          const auto d = sign * g + decay * p;
          const auto next = momentum * m + share * d;
          return std::make_tuple(p - lr * (of_g * d + of_m * next), next);
        });
  }
};

template <Scalar T>
using SGD = Optimizer<T, SGDRule>;

}  // namespace minitorch::optim
