// Saved-tensor hooks: see, count or transform what a forward pass keeps for its backward pass.
// SPDX-License-Identifier: MIT
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <utility>

#include <minitorch/autograd/any_tensor.hpp>
#include <minitorch/autograd/state.hpp>
#include <minitorch/core/error.hpp>

namespace minitorch {

// Where a saved value comes from.
struct SavedContext {
  const char* operation;  // that saves it
  bool is_leaf;           // an input or a parameter, not a result
};

// What happens to a value when it is saved, and when it is wanted back. Lives as long as anything packed with it.
class SavedHooks {
 public:
  virtual ~SavedHooks() = default;
  // Turns the value (outside any graph) into a ticket. Must not change it.
  virtual std::any pack(const AnyTensor& value, const SavedContext& context) = 0;
  // The value again, with the shape and type it had.
  virtual AnyTensor unpack(const std::any& ticket) = 0;
};

// Makes hooks the innermost ones for a scope. Null: none, values are simply kept.
struct HookScope {
  explicit HookScope(std::shared_ptr<SavedHooks> active) : hooks(std::move(active)), outer(autograd_state.hooks) {
    autograd_state.hooks = this;
  }
  ~HookScope() {  // in any order, should scopes not end like a stack
    HookScope** link = &autograd_state.hooks;
    while (*link != nullptr && *link != this) link = &(*link)->outer;
    if (*link == this) *link = outer;
  }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;

  std::shared_ptr<SavedHooks> hooks;
  HookScope* outer;
};

// Hooks from two functions, active from construction to destruction, in the order of a stack.
class SavedTensorHooks {
 public:
  using Pack = std::function<std::any(const AnyTensor&)>;
  using Unpack = std::function<AnyTensor(const std::any&)>;
  SavedTensorHooks(Pack pack, Unpack unpack) : scope_(std::make_shared<Functions>(std::move(pack), std::move(unpack))) {}

 private:
  struct Functions final : SavedHooks {
    Functions(Pack p, Unpack u) : pack_function(std::move(p)), unpack_function(std::move(u)) {}
    std::any pack(const AnyTensor& value, const SavedContext&) override { return pack_function(value); }
    AnyTensor unpack(const std::any& ticket) override { return unpack_function(ticket); }
    Pack pack_function;
    Unpack unpack_function;
  };
  HookScope scope_;
};

}  // namespace minitorch
