// What all operations are: function objects, so that templates find every overload.
// SPDX-License-Identifier: MIT
#pragma once

// Values of another world (placed on ranks, say) bring their own meaning by an apply_operation(op, args...) beside their type.

namespace minitorch {

// A type that stands for a tensor and knows how operations act on it. Its placement says so by being named.
template <class A>
concept PlacedValue = requires {
  typename A::placement;
};

template <class Self>
struct Operation {
  template <class... Args>
  requires(PlacedValue<Args> || ...) auto operator()(const Args&... args) const {
    return apply_operation(static_cast<const Self&>(*this), args...);
  }
};

}  // namespace minitorch
