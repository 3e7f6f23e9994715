// Running the forward part of an operation: the one place where results can be kept, replayed, counted and checked.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

#include <minitorch/autograd/check_finite.hpp>
#include <minitorch/autograd/state.hpp>
#include <minitorch/autograd/tensor.hpp>

namespace minitorch {

// Stands before and after every operation of a thread: recomputation policies are one. `outputs` is the result, then what else the
// forward pass fills.
class Interceptor {
 public:
  virtual ~Interceptor() = default;
  // Sets the outputs to earlier ones and returns true if the operation need not run.
  virtual bool replay(const char* name, std::span<BodyRef> outputs) = 0;
  virtual void ran(const char* name, std::span<BodyRef> outputs) = 0;
};

// Makes an interceptor the thread's for a scope.
class InterceptorScope {
 public:
  explicit InterceptorScope(Interceptor* active) : outer_(std::exchange(autograd_state.interceptor, active)) {}
  ~InterceptorScope() { autograd_state.interceptor = outer_; }
  InterceptorScope(const InterceptorScope&) = delete;
  InterceptorScope& operator=(const InterceptorScope&) = delete;

 private:
  Interceptor* outer_;
};

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

template <Element T, class Forward>
[[gnu::noinline]] void compute_intercepted(const char* name, Tensor<T>& out, Forward& forward) {
  std::apply(
      [&](auto&... auxiliary) {
        std::array<BodyRef, 1 + sizeof...(auxiliary)> outputs{out.body(), auxiliary.body()...};
        if (autograd_state.interceptor->replay(name, outputs)) {
          std::size_t next = 0;
          out = Tensor<T>(outputs[next++]);
          ((auxiliary = std::remove_reference_t<decltype(auxiliary)>(outputs[next++])), ...);
          return;
        }
        run_forward(forward, reinterpret_cast<T*>(out.body()->data));
        autograd_state.interceptor->ran(name, outputs);
      },
      auxiliaries_of(forward));
}

}  // namespace detail

// Runs forward(T* out) into a new tensor of `shape`, outside the graph.
template <Element T, class Forward>
Tensor<T> compute(const char* name, const Shape& shape, Forward&& forward) {
  Tensor<T> out = Tensor<T>::empty(shape);
  if (autograd_state.interceptor != nullptr) [[unlikely]] {
    detail::compute_intercepted(name, out, forward);
  } else {
    detail::run_forward(forward, reinterpret_cast<T*>(out.body()->data));
  }
  ++autograd_state.operations;
  if (thread_state.in_recompute) [[unlikely]]
    ++autograd_state.recomputed;
  if (thread_state.anomaly_mode) [[unlikely]]
    check_finite(name, out);
  return out;
}

}  // namespace minitorch
