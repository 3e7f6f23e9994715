// Policies: which results of a checkpointed region are kept instead of computed again.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include <minitorch/autograd/interceptor.hpp>

namespace minitorch {

// Asked before each operation of a region's first run. Must answer alike for like operations.
class Policy {
 public:
  using Decision = std::function<bool(const OperationInfo&)>;

  // Keeps nothing but the region's inputs.
  Policy() = default;
  // Keeps the results of the operations for which keep(operation) is true.
  explicit Policy(Decision keep) : keep_(std::move(keep)) {}

  bool keeps_anything() const { return keep_ != nullptr || collectives_; }
  bool keeps(const OperationInfo& operation) const { return keep_ != nullptr && keep_(operation); }
  // Whether the results of operations that turn out to communicate are kept.
  bool keeps_collectives() const { return collectives_; }

  // Keeps what either keeps.
  friend Policy operator||(const Policy& a, const Policy& b) {
    Policy both([a, b](const OperationInfo& operation) { return a.keeps(operation) || b.keeps(operation); });
    both.collectives_ = a.collectives_ || b.collectives_;
    return both;
  }

  static Policy collectives() {
    Policy policy;
    policy.collectives_ = true;
    return policy;
  }

 private:
  Decision keep_;
  bool collectives_ = false;
};

namespace policy {

// Matrix products and attention stay, the rest (cheap, but as large) runs again.
inline const Policy save_products([](const OperationInfo& operation) {
  const std::string_view name = operation.name;
  return name == "matmul" || name.ends_with("linear") || name.find("attention") != name.npos;
});

// Nothing is communicated a second time.
inline const Policy save_collectives = Policy::collectives();

}  // namespace policy

// What a model's blocks compute again in the backward pass.
enum class Recompute {
  none,      // nothing: everything is kept
  full,      // all but the blocks' inputs
  products,  // all but the blocks' inputs, matrix products and attention
};

}  // namespace minitorch
