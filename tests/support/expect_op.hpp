// expect_op: one line of test checks what can be known about an operation.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <minitorch/autograd/autograd.hpp>
#include <tests/catch.hpp>

namespace tests {

namespace mt = minitorch;

template <class T>
using Tensors = std::vector<mt::Tensor<T>>;

// An operation on n tensors in each scalar type, compiled once for all checks.
struct AnyOp {
  std::size_t inputs;
  std::function<mt::Tensor<double>(const Tensors<double>&)> f64;
  std::function<mt::Tensor<float>(const Tensors<float>&)> f32;
  std::function<mt::Tensor<mt::half>(const Tensors<mt::half>&)> f16;
  std::function<mt::Tensor<mt::bfloat16>(const Tensors<mt::bfloat16>&)> bf16;
};

struct Expectations {
  double tolerance = 1e-13;  // of values in double, relative
  double narrow = 4;         // units in the last place that narrower types may differ, of the largest element
  int saved = -1;            // distinct buffers that the forward pass saves; -1 does not say
  bool elementwise = false;  // broadcasts, and works on empty tensors
  bool same_twice = true;    // may have one tensor in all places
  bool second_order = true;
};

using Reference = std::function<mt::Tensor<double>(const Tensors<double>&)>;

// Checks value, gradient (differences, and each subset of inputs), second order, recording backward, the same input twice,
// broadcasting, empty shapes, the four scalar types, checkpointing.
void check_op(const AnyOp& op, const Reference& reference, const Tensors<double>& inputs, const Expectations& expect);

// The elementwise function of doubles, broadcast over tensors.
mt::Tensor<double> apply_elementwise(const std::function<double(const std::vector<double>&)>& f, const Tensors<double>& inputs);

// Numbers that are all different, spread over [low, high] in no order.
mt::Tensor<double> spread(const mt::Shape& shape, double low = -2, double high = 2, int seed = 1);

// CHECKs shape and elements, NaN and infinities included; bitwise for a tolerance of 0.
void check_close(const mt::Tensor<double>& got, const mt::Tensor<double>& right, double tolerance = 1e-12);

// Value and gradient of a function of one number.
struct ValueAndSlope {
  double value, slope;
};
ValueAndSlope at(const std::function<mt::Tensor<double>(const mt::Tensor<double>&)>& f, double x);

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

namespace detail {

template <class T, class F, std::size_t... I>
auto erase(F f, std::index_sequence<I...>) {
  return [f](const Tensors<T>& x) { return mt::Tensor<T>(f(x[I]...)); };
}

template <class F, std::size_t... I>
Reference erase_reference(F f, std::index_sequence<I...>) {
  if constexpr (std::is_invocable_r_v<double, F, decltype(static_cast<double>(I))...>) {
    return [f](const Tensors<double>& x) {
      return apply_elementwise([f](const std::vector<double>& v) { return static_cast<double>(f(v[I]...)); }, x);
    };
  } else {
    return [f](const Tensors<double>& x) { return f(x[I]...); };
  }
}

}  // namespace detail

// f is a generic function of tensors; `reference` is the same on doubles (for an elementwise operation) or on tensors of doubles.
template <class F, class R, class... In>
void expect_op(Expectations expect, F f, R reference, const In&... inputs) {
  constexpr auto each = std::make_index_sequence<sizeof...(In)>();
  expect.elementwise = expect.elementwise || std::is_invocable_r_v<double, R, decltype(static_cast<void>(inputs), 0.0)...>;
  check_op({sizeof...(In), detail::erase<double>(f, each), detail::erase<float>(f, each), detail::erase<mt::half>(f, each),
            detail::erase<mt::bfloat16>(f, each)},
           detail::erase_reference(reference, each), {inputs...}, expect);
}
template <class F, class R, class... In>
requires(!std::same_as<F, Expectations>) void expect_op(F f, R reference, const In&... inputs) {
  expect_op(Expectations{}, f, reference, inputs...);
}

}  // namespace tests
