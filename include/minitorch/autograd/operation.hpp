// What all operations are: function objects, so that templates find every overload.
// SPDX-License-Identifier: MIT
#pragma once

namespace minitorch {

// How an operation acts on a value that is spread over ranks: what parallel/rules.hpp goes by. An operation of kind `special` has its
// own overloads there or none.
enum class Kind {
  special,
  linear,       // element by element, f(a + b) = f(a) + f(b): neg, to, a number times x
  elementwise,  // element by element, otherwise: exp, gelu, square
  addition,     // a + b, a - b
  product,      // a b, element by element: linear in each operand
  quotient,     // a / b: linear in a
  rowwise,      // along the last dimension: softmax, layer_norm
  total_sum,    // over all elements, to one
  total_mean,   // the same, divided by their number
};

// A type that stands for a tensor and knows how operations act on it; it names its placement.
template <class A>
concept PlacedValue = requires {
  typename A::placement;
};

// The base of an operation's type. A call with a placed value goes to the apply_operation(op, args...) that stands beside its type.
template <class Self, Kind K = Kind::special>
struct Operation {
  static constexpr Kind kind = K;

  template <class... Args>
  requires(PlacedValue<Args> || ...) auto operator()(const Args&... args) const {
    return apply_operation(static_cast<const Self&>(*this), args...);
  }
};

}  // namespace minitorch
