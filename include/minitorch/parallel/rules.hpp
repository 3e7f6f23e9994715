// What operations do to placed values. What would be wrong does not compile, and the message says why.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <minitorch/ops/operators.hpp>
#include <minitorch/parallel/placement.hpp>

namespace minitorch::parallel {

// The signs of minitorch, where the compiler looks for those of placed values.
using minitorch::operator+;
using minitorch::operator-;
using minitorch::operator*;
using minitorch::operator/;

namespace detail {

struct Refused {};  // the combination has no meaning; the caller says why

template <class P>
concept Whole = std::same_as<P, Invariant> || std::same_as<P, Replicated>;

// The placement of f(x), element by element or along whole rows.
template <Kind K, class P>
constexpr auto unary_result() {
  if constexpr (K == Kind::total_sum) {
    if constexpr (is_sharded<P>)
      return Partial{};
    else
      return P{};
  } else if constexpr (std::same_as<P, Partial>) {
    if constexpr (K == Kind::linear || K == Kind::total_mean || K == Kind::product || K == Kind::quotient)
      return P{};
    else
      return Refused{};
  } else if constexpr (K == Kind::total_mean) {
    if constexpr (is_sharded<P>)
      return Refused{};
    else
      return P{};
  } else if constexpr (K == Kind::rowwise && std::same_as<P, Sharded<last>>) {
    return Refused{};
  } else {
    return P{};
  }
}

// The placement of a ∘ b, element by element.
template <Kind K, class P, class Q>
constexpr auto binary_result() {
  constexpr bool left_partial = std::same_as<P, Partial>, right_partial = std::same_as<Q, Partial>;
  if constexpr (left_partial && right_partial) {
    if constexpr (K == Kind::addition)
      return Partial{};
    else
      return Refused{};
  } else if constexpr (left_partial) {
    if constexpr (std::same_as<Q, Replicated> && (K == Kind::product || K == Kind::quotient))
      return Partial{};
    else
      return Refused{};
  } else if constexpr (right_partial) {
    if constexpr (std::same_as<P, Replicated> && K == Kind::product)
      return Partial{};
    else
      return Refused{};
  } else if constexpr (std::same_as<P, Q> || (is_sharded<P> && std::same_as<Q, Replicated>)) {
    return P{};
  } else if constexpr (std::same_as<P, Replicated> && is_sharded<Q>) {
    return Q{};
  } else {
    return Refused{};
  }
}

// One message for each mistake.
template <Kind K, class P>
constexpr void explain_unary() {
  static_assert(
      !(std::same_as<P, Partial> && (K == Kind::elementwise || K == Kind::rowwise)),
      "a nonlinear operation on a Partial value is wrong: GELU(a + b) is not GELU(a) + GELU(b). all_reduce (or reduce_scatter) it first");
  static_assert(!(std::same_as<P, Partial> && K == Kind::addition),
                "a number added to a Partial value is added once per shard; all_reduce it first");
  static_assert(!(K == Kind::rowwise && std::same_as<P, Sharded<last>>),
                "softmax and normalisation need the whole last dimension, but it is sharded; all_gather it first");
  static_assert(!(K == Kind::total_mean && is_sharded<P>),
                "the mean of a Sharded value would be an average of averages; sum() it to a Partial and divide by the whole count");
  static_assert(K != Kind::special, "this operation has no rule for placed values; use all_reduce or all_gather, or work on parts()");
}

template <Kind K, class P, class Q>
constexpr void explain_binary() {
  constexpr bool partial = std::same_as<P, Partial> || std::same_as<Q, Partial>;
  constexpr bool invariant = std::same_as<P, Invariant> || std::same_as<Q, Invariant>;
  static_assert(
      !(partial && invariant && K == Kind::addition),
      "an Invariant value (a bias, say) added to a Partial one is added once per shard; add it after all_reduce, or move it by partial(x)");
  static_assert(!(partial && !invariant && K == Kind::addition),
                "a whole value added to a Partial one is added once per shard; all_reduce the Partial first");
  static_assert(!(partial && K != Kind::addition),
                "a Partial value may be multiplied by a Replicated one and by nothing else: a product of sums is not the sum of products");
  static_assert(
      !(invariant && !partial),
      "an Invariant value mixes only with Invariant ones: its gradient is already whole. Move it by replicate(x) or shard<Dim>(x)");
  static_assert(partial || invariant, "the two values are sharded along different dimensions");
}

// The parts of an argument: part i of a placed value, anything else as it is.
template <class Value, class Arg>
decltype(auto) part_of(const Arg& arg, std::size_t i) {
  if constexpr (!is_placed<Arg>) {
    return arg;
  } else {
    using Part = typename Arg::Part;
    if constexpr (std::same_as<typename Part::value_type, Value>)
      return static_cast<const Part&>(arg.parts()[i]);
    else
      return arg.parts()[i].template to<Value>();
  }
}

template <class... Args>
using FirstPlaced = std::remove_cvref_t<decltype(*std::get<0>(
    std::tuple_cat(std::declval<std::conditional_t<is_placed<Args>, std::tuple<const Args*>, std::tuple<>>>()...)))>;

template <class Op, class... Args>
constexpr auto result_placement() {
  constexpr int placed = (0 + ... + (is_placed<Args> ? 1 : 0));
  using First = FirstPlaced<Args...>;
  if constexpr (placed == 1) {
    using Result = decltype(unary_result<Op::kind, typename First::placement>());
    if constexpr (std::same_as<Result, Refused> || Op::kind == Kind::special ||
                  (Op::kind == Kind::addition && std::same_as<typename First::placement, Partial>))
      explain_unary<Op::kind, typename First::placement>();
    return Result{};
  } else {
    static_assert(placed <= 2, "operations of more than two placed values have no rule");
    using Second = std::remove_cvref_t<decltype(*std::get<1>(
        std::tuple_cat(std::declval<std::conditional_t<is_placed<Args>, std::tuple<const Args*>, std::tuple<>>>()...)))>;
    using Result = decltype(binary_result<Op::kind, typename First::placement, typename Second::placement>());
    if constexpr (std::same_as<Result, Refused>) explain_binary<Op::kind, typename First::placement, typename Second::placement>();
    return Result{};
  }
}

template <class Arg>
inline constexpr bool is_bare_tensor = false;
template <Element T>
inline constexpr bool is_bare_tensor<Tensor<T>> = true;

template <Scalar T, class P, AxisName Name>
const Axis& axis_of(const Placed<T, P, Name>& x) {
  return x.axis();
}

}  // namespace detail

// op on the parts of its arguments; where the result lives follows from the kind of the operation.
template <class Op, class... Args>
auto apply_operation(const Op& op, const Args&... args) {
  static_assert(!(detail::is_bare_tensor<Args> || ...),
                "a plain tensor does not say where it lives; place it by invariant(axis, x) or shard<Dim>(axis, x)");
  using Result = decltype(detail::result_placement<Op, Args...>());
  if constexpr (!std::same_as<Result, detail::Refused>) {
    using First = detail::FirstPlaced<Args...>;
    using Value = std::conditional_t<std::same_as<Result, Partial>, compute_t<typename First::value_type>, typename First::value_type>;
    const First* first = nullptr;
    const auto look = [&]<class Arg>(const Arg& arg) {
      if constexpr (is_placed<Arg>) {
        if constexpr (std::same_as<Arg, First>) {
          if (first == nullptr) first = &arg;
        }
      }
    };
    (look(args), ...);
    const auto check_rows = [&]<class Arg>(const Arg& arg) {
      if constexpr (is_placed<Arg> && Op::kind == Kind::rowwise) {
        if constexpr (is_sharded<typename Arg::placement>) {
          if (Arg::placement::dim == arg.shape().rank() - 1)
            fail<ShapeError>("the last dimension of shape ", arg.shape(), " is sharded; all_gather it first");
        }
      }
    };
    (check_rows(args), ...);
    using Part = decltype(op(detail::part_of<Value>(args, 0)...));
    using Out = std::conditional_t<std::same_as<Result, Partial>, typename First::value_type, typename Part::value_type>;
    std::vector<Part> parts;
    parts.reserve(first->parts().size());
    for (std::size_t i = 0; i < first->parts().size(); ++i) parts.push_back(op(detail::part_of<Value>(args, i)...));
    return []<AxisName Name, Scalar T, class P>(const Placed<T, P, Name>& like, std::vector<Part> moved) {
      return Placed<Out, Result, Name>(like.axis(), std::move(moved));
    }(*first, std::move(parts));
  }
}

}  // namespace minitorch::parallel
