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

template <class Forward, Element T>
void run_forward(Forward& forward, T* out) {
  forward(out);
}
template <class Forward, Element... U, Element T>
void run_forward(Filling<Forward, U...>& filling, T* out) {
  filling.forward(out);
}

template <class Forward>
std::tuple<> auxiliaries_of(Forward&) {
  return {};
}
template <class Forward, Element... U>
std::tuple<Tensor<U>&...> auxiliaries_of(Filling<Forward, U...>& filling) {
  return filling.auxiliaries;
}

inline void count_operation() {
  ++autograd_state.operations;
  if (thread_state.in_recompute) [[unlikely]]
    ++autograd_state.recomputed;
}

template <Element T, class Forward>
Tensor<T> compute_plain(const Shape& shape, Forward& forward) {
  Tensor<T> out = Tensor<T>::empty(shape);
  run_forward(forward, reinterpret_cast<T*>(out.body()->data));
  count_operation();
  return out;
}

template <Element T, class Forward>
[[gnu::noinline]] Tensor<T> compute_intercepted(const char* name, const Shape& shape, Forward& forward) {
  const OperationInfo operation{name, shape, dtype_of<T>};
  return std::apply(
      [&](auto&... auxiliary) {
        std::array<BodyRef, 1 + sizeof...(auxiliary)> outputs{BodyRef{}, auxiliary.body()...};
        if (autograd_state.interceptor->replay(operation, outputs)) {
          std::size_t next = 1;
          ((auxiliary = std::remove_reference_t<decltype(auxiliary)>(outputs[next++])), ...);
          return Tensor<T>(outputs[0]);
        }
        Tensor<T> out = Tensor<T>::empty(shape);
        {
          const InterceptorScope inside(nullptr);  // what a forward pass computes on its way is part of it
          run_forward(forward, reinterpret_cast<T*>(out.body()->data));
        }
        count_operation();
        outputs[0] = out.body();
        autograd_state.interceptor->ran(operation, outputs);
        return out;
      },
      auxiliaries_of(forward));
}

}  // namespace detail

// Runs forward(T* out) into a new tensor of `shape`, outside the graph.
template <Element T, class Forward>
Tensor<T> compute(const char* name, const Shape& shape, Forward&& forward) {
  Tensor<T> out = autograd_state.interceptor == nullptr ? detail::compute_plain<T>(shape, forward)
                                                        : detail::compute_intercepted<T>(name, shape, forward);
  if (thread_state.anomaly_mode) [[unlikely]]
    check_finite(name, out);
  return out;
}

}  // namespace minitorch
