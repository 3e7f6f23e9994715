// Learning rates as functions of the step: nothing to save, nothing to restore. optimizer.set_lr(schedule(step)).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <utility>

namespace minitorch::optim {

// Any function of the step, which counts from 0.
using Schedule = std::function<double(std::int64_t)>;

inline Schedule constant(double lr) {
  return [lr](std::int64_t) { return lr; };
}

// From lr at step 0 down to `last` at `period`, up again to lr at 2 period, and so on, along a cosine (Loshchilov and Hutter, 2017).
inline Schedule cosine_wave(double lr, std::int64_t period, double last = 0) {
  return [=](std::int64_t step) {
    const double part = static_cast<double>(step) / static_cast<double>(period);
    return last + (lr - last) * (1 + std::cos(std::numbers::pi * part)) / 2;
  };
}

// From lr at step 0 to `last` at `steps`, along half a cosine; `last` ever after.
inline Schedule cosine(double lr, std::int64_t steps, double last = 0) {
  return [=, down = cosine_wave(lr, steps, last)](std::int64_t step) { return step >= steps ? last : down(step); };
}

// From lr at step 0 to `last` at `steps`, along a line; `last` ever after.
inline Schedule linear(double lr, std::int64_t steps, double last = 0) {
  return
      [=](std::int64_t step) { return step >= steps ? last : lr + (last - lr) * static_cast<double>(step) / static_cast<double>(steps); };
}

// lr times `factor` for every `period` steps that have passed.
inline Schedule step_decay(double lr, std::int64_t period, double factor = 0.1) {
  return [=](std::int64_t step) {
    const std::int64_t periods = step / period;
    return lr * std::pow(factor, static_cast<double>(periods));
  };
}

// The first `steps` steps of a schedule at (step + 1) / (steps + 1) of what it starts with; then the schedule from its own step 0.
inline Schedule warm_up(std::int64_t steps, Schedule then) {
  return [steps, then = std::move(then)](std::int64_t step) {
    if (step >= steps) return then(step - steps);
    return then(0) * static_cast<double>(step + 1) / static_cast<double>(steps + 1);
  };
}

}  // namespace minitorch::optim
