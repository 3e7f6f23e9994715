// GradScaler: keeps small gradients of half precision alive by a factor on the loss that follows what overflows.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <minitorch/optim/clip.hpp>

namespace minitorch::optim {

struct GradScalerOptions {
  double scale = 65536;
  double growth = 2;     // after `interval` good steps in a row
  double backoff = 0.5;  // after a step that was skipped
  std::int64_t interval = 2000;
  // Whether any rank found an infinity or NaN, from whether this one did. By default there is one rank.
  std::function<bool(bool)> any = {};
};

class GradScaler {
 public:
  explicit GradScaler(GradScalerOptions options = {}) : options_(std::move(options)), scale_(options_.scale) {
    if (!usable(options_.scale) || !(options_.growth > 1) || !(options_.backoff > 0 && options_.backoff < 1) || options_.interval < 1)
      fail<ArgumentError>("GradScaler: a scale that float holds and > 0, growth > 1, 0 < backoff < 1 and interval >= 1 must hold, got ",
                          options_.scale, ", ", options_.growth, ", ", options_.backoff, " and ", options_.interval);
  }

  double scale() const { return scale_; }
  // Steps that were not taken because a gradient was not finite. One now and then is how the scale finds its place.
  std::int64_t skipped() const { return skipped_; }

  // loss.backward() with a loss multiplied by scale(): all gradients are multiplied by it.
  template <Scalar T>
  void backward(const Tensor<T>& loss, BackwardOptions options = {}) const {
    loss.backward(full<T>(loss.shape(), static_cast<T>(scale_)), options);
  }

  // Divides the gradients by scale() and looks for infinities and NaN: before clipping. At most once before update().
  template <class Optimizer>
  void unscale_(Optimizer& optimizer) {
    if (find(&optimizer) != nullptr) fail<GraphError>("unscale_: these gradients were unscaled since the last update()");
    const auto parameters = optimizer.parameters();
    if (scale_ != 1) scale_grads_(parameters, 1 / scale_);
    const bool found = !std::isfinite(grad_norm(parameters, {.norm_type = std::numeric_limits<double>::infinity()}));
    unscaled_.push_back({&optimizer, options_.any ? options_.any(found) : found});
  }

  // Unscales unless that is done, and steps unless something was not finite. Returns whether it stepped.
  template <class Optimizer>
  bool step(Optimizer& optimizer) {
    if (find(&optimizer) == nullptr) unscale_(optimizer);
    if (find(&optimizer)->found) {
      ++skipped_;
      return false;
    }
    optimizer.step();
    return true;
  }

  // Once a step, at its end: adapts the scale.
  void update() {
    bool found = false;
    for (const Unscaled& u : unscaled_) found |= u.found;
    unscaled_.clear();
    if (found) {
      if (usable(scale_ * options_.backoff)) scale_ *= options_.backoff;
      good_ = 0;
    } else if (++good_ == options_.interval) {
      if (usable(scale_ * options_.growth)) scale_ *= options_.growth;
      good_ = 0;
    }
  }

  StateDict state_dict() const {
    StateDict state;
    state.add("scale", scalar<double>(scale_));
    state.add("good", scalar<std::int64_t>(good_));
    state.add("skipped", scalar<std::int64_t>(skipped_));
    return state;
  }
  void load_state_dict(const StateDict& state) {
    const double scale = state.at("scale").as<double>().item();
    if (!usable(scale)) fail<ArgumentError>("GradScaler: a saved scale must be one that float holds and > 0, got ", scale);
    const std::int64_t good = state.at("good").as<std::int64_t>().item();
    skipped_ = state.at("skipped").as<std::int64_t>().item();
    scale_ = scale;
    good_ = good;
  }

 private:
  // Whether float holds the scale and its inverse, both in full precision.
  static bool usable(double scale) { return scale >= 0x1p-126 && scale <= 0x1p127; }

  struct Unscaled {
    const void* optimizer;
    bool found;
  };
  const Unscaled* find(const void* optimizer) const {
    for (const Unscaled& u : unscaled_)
      if (u.optimizer == optimizer) return &u;
    return nullptr;
  }

  GradScalerOptions options_;
  double scale_;
  std::int64_t good_ = 0, skipped_ = 0;
  std::vector<Unscaled> unscaled_;
};

}  // namespace minitorch::optim
