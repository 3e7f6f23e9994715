// Where a value lives on an axis, and what its gradient is: part of its type.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/parallel/axis.hpp>

namespace minitorch::parallel {

// placement    value                                   gradient
// Invariant    the same on all ranks                   the same on all ranks
// Replicated   the same on all ranks                   each rank has a part of a sum
// Sharded<D>   each shard has a slice of dimension D   each shard has its slice
// Partial      each shard has a part of a sum          the same on all ranks
struct Invariant {};
struct Replicated {};
template <int Dim>
struct Sharded {
  static constexpr int dim = Dim;
};
struct Partial {};

inline constexpr int last = -1;  // Sharded<last>: the last dimension, whatever the rank

template <class P>
inline constexpr bool is_sharded = false;
template <int Dim>
inline constexpr bool is_sharded<Sharded<Dim>> = true;

template <class P>
concept PlacementTag = std::same_as<P, Invariant> || std::same_as<P, Replicated> || std::same_as<P, Partial> || is_sharded<P>;

// A tensor placed on an axis. What a rank holds of it are parts(): one tensor if Invariant, otherwise one a local shard. Parts of a
// Replicated value share their memory but not their gradients. Parts of a Partial value are kept in the accumulation type.
template <Scalar T, PlacementTag P, AxisName Name = "ranks">
class Placed {
 public:
  using value_type = T;
  using placement = P;
  using Part = std::conditional_t<std::same_as<P, Partial>, Tensor<compute_t<T>>, Tensor<T>>;

  Placed(const Axis& axis, std::vector<Part> parts) : axis_(axis), parts_(std::move(parts)) {}

  const Axis& axis() const { return axis_; }
  Communicator& comm() const { return axis_.comm(); }
  const std::vector<Part>& parts() const { return parts_; }
  // The only part. Throws ArgumentError when a rank holds several shards.
  const Part& local() const {
    if (parts_.size() != 1) fail<ArgumentError>("local: the rank holds ", parts_.size(), " shards of the value");
    return parts_.front();
  }
  // The shape of one part.
  const Shape& shape() const { return parts_.front().shape(); }

  // The values in another scalar type.
  template <Scalar U>
  Placed<U, P, Name> to() const {
    std::vector<typename Placed<U, P, Name>::Part> parts;
    for (const Part& part : parts_) parts.push_back(part.template to<typename Placed<U, P, Name>::Part::value_type>());
    return {axis_, std::move(parts)};
  }

  T item() const {
    static_assert(std::same_as<P, Invariant>,
                  "item: only an Invariant value is the same number on every rank; all_reduce a Partial or all_gather a Sharded one first");
    return parts_.front().item();
  }
  // Seeded with 1 on every rank.
  void backward(BackwardOptions options = {}) const {
    static_assert(
        std::same_as<P, Invariant> || std::same_as<P, Partial>,
        "backward: start from an Invariant or a Partial value. The gradient of a Replicated or Sharded one would be counted once per "
        "rank; all_reduce or all_gather it first");
    if (parts_.size() == 1) return parts_.front().backward(options);
    std::vector<Part> seeds;
    Engine engine(options);
    for (const Part& part : parts_)
      if (part.requires_grad()) engine.add_root(part, ones_like(part));
    engine.run();
  }

 private:
  Axis axis_;
  std::vector<Part> parts_;
};

template <class X>
inline constexpr bool is_placed = false;
template <Scalar T, class P, AxisName Name>
inline constexpr bool is_placed<Placed<T, P, Name>> = true;

// The parts of a new value on the same axis, from a function of one part.
template <PlacementTag P, Scalar T, class Q, AxisName Name, class F>
auto map_parts(const Placed<T, Q, Name>& x, F&& f) {
  using Result = decltype(f(x.parts().front()));
  using Value = typename Result::value_type;
  std::vector<Result> parts;
  parts.reserve(x.parts().size());
  for (const auto& part : x.parts()) parts.push_back(f(part));
  if constexpr (std::same_as<P, Partial> && is_narrow<T>)
    return Placed<T, P, Name>(x.axis(), std::move(parts));
  else
    return Placed<Value, P, Name>(x.axis(), std::move(parts));
}

}  // namespace minitorch::parallel
