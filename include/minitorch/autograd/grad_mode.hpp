// Switching the recording of gradients, anomaly mode and seeds for a scope.
// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include <minitorch/core/thread_state.hpp>

namespace minitorch {

// While one lives, its thread records nothing: results have no history.
class NoGrad {
 private:
  Scoped<&ThreadState::grad_enabled> off_{false};
};

// While one lives, its thread records again, inside a NoGrad.
class EnableGrad {
 private:
  Scoped<&ThreadState::grad_enabled> on_{true};
};

// While one lives, every result of its thread, forward and backward, is checked: NaN or infinity is a GraphError that names the operation.
class AnomalyMode {
 private:
  Scoped<&ThreadState::anomaly_mode> on_{true};
};

// Calls f() with nothing recorded.
template <class F>
decltype(auto) no_grad(F&& f) {
  const NoGrad guard;
  return std::forward<F>(f)();
}

inline bool grad_enabled() { return thread_state.grad_enabled; }

}  // namespace minitorch
