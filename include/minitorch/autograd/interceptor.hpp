// What may stand before and after every operation of a thread: recomputation policies are one such thing.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include <minitorch/autograd/body.hpp>
#include <minitorch/autograd/state.hpp>
#include <minitorch/core/scalar.hpp>
#include <minitorch/core/shape.hpp>

namespace minitorch {

// An operation that is about to run, by its result.
struct OperationInfo {
  const char* name;
  const Shape& shape;
  DType dtype;

  std::int64_t bytes() const { return shape.bytes(dtype_size(dtype)); }
};

class Interceptor {
 public:
  virtual ~Interceptor() = default;
  // Before an operation: sets the outputs (the result, then what else the forward pass fills) and returns true if it need not run.
  virtual bool replay(const OperationInfo& operation, std::span<BodyRef> outputs) = 0;
  // After one that ran.
  virtual void ran(const OperationInfo& operation, std::span<const BodyRef> outputs) = 0;
};

// Makes an interceptor the thread's for a scope; null: none.
class InterceptorScope {
 public:
  explicit InterceptorScope(Interceptor* active) : outer_(std::exchange(autograd_state.interceptor, active)) {}
  ~InterceptorScope() { autograd_state.interceptor = outer_; }
  InterceptorScope(const InterceptorScope&) = delete;
  InterceptorScope& operator=(const InterceptorScope&) = delete;

 private:
  Interceptor* outer_;
};

}  // namespace minitorch
