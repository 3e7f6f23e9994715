// What a thread keeps for differentiation, besides the settings of core/thread_state.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

namespace minitorch {

class Node;
class Interceptor;
struct HookScope;

// Something that wants to know when the outermost backward pass of its thread is over.
class PassGuest {
 public:
  virtual void pass_ended() noexcept = 0;

 protected:
  PassGuest() = default;
  PassGuest(const PassGuest&) = delete;
  PassGuest& operator=(const PassGuest&) = delete;
  ~PassGuest() { leave(); }
  void join() noexcept;
  void leave() noexcept;

 private:
  friend void end_pass() noexcept;
  PassGuest* next_ = nullptr;
  bool listed_ = false;
};

struct AutogradState {
  Node* dead = nullptr;  // nodes waiting for destruction
  bool draining = false;
  int depth = 0;               // backward passes that are running, one inside another
  std::uint64_t sequence = 0;  // of the newest node
  std::uint64_t epoch = 0;     // of the newest backward pass
  HookScope* hooks = nullptr;  // the innermost saved-tensor hooks
  Interceptor* interceptor = nullptr;
  PassGuest* guests = nullptr;   // of the backward passes that are running
  std::uint64_t operations = 0;  // forward operations run so far
  std::uint64_t recomputed = 0;  // of these, how many inside a recomputation
  double product_flops = 0;      // floating-point operations of matrix products so far
  double recomputed_flops = 0;   // of these, inside a recomputation
};

inline constinit thread_local AutogradState autograd_state;

inline void PassGuest::join() noexcept {
  if (listed_ || autograd_state.depth == 0) return;
  next_ = std::exchange(autograd_state.guests, this);
  listed_ = true;
}

inline void PassGuest::leave() noexcept {
  if (!std::exchange(listed_, false)) return;
  PassGuest** link = &autograd_state.guests;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
}

inline void end_pass() noexcept {
  while (PassGuest* guest = autograd_state.guests) {
    guest->leave();
    guest->pass_ended();
  }
}

}  // namespace minitorch
