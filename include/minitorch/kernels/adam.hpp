// The update steps of the optimizers: one pass over parameters, gradients and state, computed in float (double for double).
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include <minitorch/kernels/map.hpp>
#include <minitorch/kernels/math/basic.hpp>

namespace minitorch::kernels {

struct AdamStep {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double l2 = 0;          // added to the gradient as l2 p (Adam)
  double decay = 0;       // taken from the parameter as lr decay p (AdamW)
  double grad_scale = 1;  // what gradients are multiplied with first: clipping, loss scaling
  std::int64_t step = 1;  // counted from 1
};

// m and v are moving averages of g and g^2; p -= lr m' / (sqrt(v') + eps), where m' and v' are m and v without their bias to 0.
template <Scalar P, Scalar G, Scalar State>
void adam(const AdamStep& s, std::int64_t n, P* p, const G* g, State* m, State* v) {
  const double correction1 = 1 - std::pow(s.beta1, static_cast<double>(s.step)),
               correction2 = 1 - std::pow(s.beta2, static_cast<double>(s.step));
  const double rate = s.lr / correction1, root = 1 / std::sqrt(correction2), keep = 1 - s.lr * s.decay;
  map(
      n,
      [=](const auto& parameter, const auto& gradient, const auto& first, const auto& second) __attribute__((always_inline)) {
        using Numbers = std::remove_cvref_t<decltype(parameter)>;
        const Numbers d = fma(parameter, Numbers(s.l2), gradient * Numbers(s.grad_scale));
        const Numbers m1 = first + (d - first) * Numbers(1 - s.beta1);
        const Numbers v1 = Numbers(s.beta2) * second + Numbers(1 - s.beta2) * (d * d);
        const Numbers change = Numbers(rate) * m1 / (sqrt(v1) * Numbers(root) + Numbers(s.eps));
        return std::tuple(parameter * Numbers(keep) - change, m1, v1);
      },
      std::tuple(p, m, v), p, g, m, v);
}

struct SgdStep {
  double lr = 1e-3, momentum = 0, dampening = 0, l2 = 0;
  double grad_scale = 1;
  bool nesterov = false, first = false;  // first: the momentum starts as the gradient
};

// d = g + l2 p; buffer = momentum buffer + (1 - dampening) d; p -= lr buffer, or with Nesterov lr (d + momentum buffer).
template <Scalar P, Scalar G, Scalar State>
void sgd(const SgdStep& s, std::int64_t n, P* p, const G* g, State* buffer) {
  const double keep = s.first ? 0 : s.momentum, take = s.first ? 1 : 1 - s.dampening, direct = s.nesterov ? 1 : 0,
               through = s.nesterov ? s.momentum : 1;
  map(
      n,
      [=](const auto& parameter, const auto& gradient, const auto& old) __attribute__((always_inline)) {
        using Numbers = std::remove_cvref_t<decltype(parameter)>;
        const Numbers d = fma(parameter, Numbers(s.l2), gradient * Numbers(s.grad_scale));
        const Numbers moved = Numbers(keep) * old + Numbers(take) * d;
        return std::tuple(parameter - Numbers(s.lr) * (Numbers(direct) * d + Numbers(through) * moved), moved);
      },
      std::tuple(p, buffer), p, g, buffer);
}

// Without momentum there is no buffer.
template <Scalar P, Scalar G>
void sgd(const SgdStep& s, std::int64_t n, P* p, const G* g) {
  map(
      n,
      [=](const auto& parameter, const auto& gradient) __attribute__((always_inline)) {
        using Numbers = std::remove_cvref_t<decltype(parameter)>;
        return parameter - Numbers(s.lr) * fma(parameter, Numbers(s.l2), gradient * Numbers(s.grad_scale));
      },
      p, p, g);
}

}  // namespace minitorch::kernels
