// SavedMeter: how many bytes a forward pass keeps for its backward pass, each buffer once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <minitorch/autograd/hooks.hpp>

namespace minitorch {

// Counts while it lives and values are kept as usual. One entry a distinct buffer, in the order of saving.
class SavedMeter {
 public:
  struct Entry {
    const void* buffer;
    std::int64_t bytes;     // of the whole buffer
    std::string operation;  // that saved it first
    bool is_leaf;
  };

  SavedMeter() : counter_(std::make_shared<Counter>()), scope_(counter_) {}

  const std::vector<Entry>& entries() const { return counter_->entries; }

  // The bytes of all of them but those that `excluded` (parameters, say) lie in.
  std::int64_t bytes(std::span<const AnyTensor> excluded = {}) const {
    std::int64_t total = 0;
    for (const Entry& entry : entries()) {
      bool counts = true;
      for (const AnyTensor& tensor : excluded) counts = counts && tensor.buffer() != entry.buffer;
      if (counts) total += entry.bytes;
    }
    return total;
  }

 private:
  struct Counter final : SavedHooks {
    std::any pack(const AnyTensor& value, const SavedContext& context) override {
      bool known = false;
      for (const Entry& entry : entries) known = known || entry.buffer == value.buffer();
      if (!known) {
        entries.push_back({value.buffer(), value.body()->buffer->bytes(), context.operation, context.is_leaf});
        held.push_back(value.body()->buffer);  // or its address could come again
      }
      return value;
    }
    AnyTensor unpack(const std::any& ticket) override { return std::any_cast<AnyTensor>(ticket); }
    std::vector<Entry> entries;
    std::vector<BufferRef> held;
  };

  std::shared_ptr<Counter> counter_;
  HookScope scope_;
};

}  // namespace minitorch
