// Running the forward part of an operation: the one place where results can be kept, replayed, counted and checked.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

#include <minitorch/autograd/check_finite.hpp>
#include <minitorch/autograd/interceptor.hpp>
#include <minitorch/autograd/state.hpp>
#include <minitorch/autograd/tensor.hpp>

namespace minitorch {

// A forward pass that fills more than its result: filling(forward, row_lse).
template <class Forward, Element... U>
struct Filling {
  Forward forward;
  std::tuple<Tensor<U>&...> auxiliaries;
};
template <class Forward, Element... U>
Filling<Forward, U...> filling(Forward forward, Tensor<U>&... auxiliaries) {
  return {std::move(forward), std::tuple<Tensor<U>&...>(auxiliaries...)};
}

namespace detail {

template <class Forward>
inline constexpr bool fills = false;
template <class Forward, Element... U>
inline constexpr bool fills<Filling<Forward, U...>> = true;

// The forward pass of an operation without its types: run(function, out).
struct AnyForward {
  const void* function;
  void (*run)(const void*, std::byte*);
};

template <Element T, class Forward>
AnyForward any_forward(const Forward& forward) {
  return {&forward, [](const void* function, std::byte* out) { (*static_cast<const Forward*>(function))(reinterpret_cast<T*>(out)); }};
}

inline BodyRef compute_plain(const OperationInfo& operation, AnyForward forward) {
  BodyRef out = BodyRef::empty(operation.dtype, operation.shape);
  forward.run(forward.function, out->data);
  ++autograd_state.operations;
  if (thread_state.in_recompute) [[unlikely]]
    ++autograd_state.recomputed;
  return out;
}

// outputs: the result, then what else the forward pass fills.
[[gnu::noinline]] inline void compute_intercepted(const OperationInfo& operation, AnyForward forward, std::span<BodyRef> outputs) {
  if (autograd_state.interceptor->replay(operation, outputs)) return;
  {
    const InterceptorScope inside(nullptr);  // what a forward pass computes on its way is part of it
    outputs[0] = compute_plain(operation, forward);
  }
  autograd_state.interceptor->ran(operation, outputs);
}

[[gnu::noinline]] inline BodyRef compute_body(const OperationInfo& operation, AnyForward forward) {
  const auto intercepted = [&] {
    BodyRef out;
    compute_intercepted(operation, forward, {&out, 1});
    return out;
  };
  BodyRef out = autograd_state.interceptor == nullptr ? compute_plain(operation, forward) : intercepted();
  if (thread_state.anomaly_mode) [[unlikely]]
    check_finite(operation.name, AnyTensor(out));
  return out;
}

[[gnu::noinline]] inline void compute_several(const OperationInfo& operation, AnyForward forward, std::span<BodyRef> outputs) {
  if (autograd_state.interceptor == nullptr)
    outputs[0] = compute_plain(operation, forward);
  else
    compute_intercepted(operation, forward, outputs);
  if (thread_state.anomaly_mode) [[unlikely]]
    check_finite(operation.name, AnyTensor(outputs[0]));
}

}  // namespace detail

// Runs forward(T* out) into a new tensor of `shape`, outside the graph.
template <Element T, class Forward>
Tensor<T> compute(const char* name, const Shape& shape, const Forward& forward) {
  return Tensor<T>(detail::compute_body({name, shape, dtype_of<T>}, detail::any_forward<T>(forward)));
}
template <Element T, class Forward, Element... U>
Tensor<T> compute(const char* name, const Shape& shape, const Filling<Forward, U...>& filling) {
  return std::apply(
      [&](Tensor<U>&... auxiliary) {
        std::array<BodyRef, 1 + sizeof...(U)> outputs{BodyRef{}, auxiliary.body()...};
        detail::compute_several({name, shape, dtype_of<T>}, detail::any_forward<T>(filling.forward), outputs);
        std::size_t next = 1;
        ((auxiliary = Tensor<U>(outputs[next++])), ...);  // they may come from an earlier run
        return Tensor<T>(outputs[0]);
      },
      filling.auxiliaries);
}

}  // namespace minitorch
