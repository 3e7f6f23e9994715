// What a thread keeps for differentiation, besides the settings of core/thread_state.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace minitorch {

class Node;
class Interceptor;
struct HookScope;

struct AutogradState {
  Node* dead = nullptr;  // nodes waiting for destruction
  bool draining = false;
  int depth = 0;               // backward passes that are running, one inside another
  std::uint64_t sequence = 0;  // of the newest node
  std::uint64_t epoch = 0;     // of the newest backward pass
  HookScope* hooks = nullptr;  // the innermost saved-tensor hooks
  Interceptor* interceptor = nullptr;
  std::uint64_t operations = 0;  // forward operations run so far
  std::uint64_t recomputed = 0;  // of these, how many inside a recomputation
  double product_flops = 0;      // floating-point operations of matrix products so far
  double recomputed_flops = 0;   // of these, inside a recomputation
};

inline constinit thread_local AutogradState autograd_state;

}  // namespace minitorch
