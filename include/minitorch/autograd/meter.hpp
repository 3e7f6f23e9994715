// SavedMeter: how many bytes a forward pass keeps for its backward pass, each buffer once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <minitorch/autograd/hooks.hpp>

namespace minitorch {

// Counts while it lives; values are kept as usual, and no longer than usual. One entry a distinct buffer, in the order of saving.
class SavedMeter {
 public:
  struct Entry {
    const void* buffer;
    std::int64_t bytes;     // of the whole buffer
    std::string operation;  // that saved it first
    bool is_leaf;           // an input or a parameter, not a result
  };

  SavedMeter() : counter_(std::make_shared<Counter>()), scope_(counter_) {}

  const std::vector<Entry>& entries() const { return counter_->entries; }

  // The bytes of all of them but those that `excluded` (parameters, say) lie in.
  std::int64_t bytes(std::span<const AnyTensor> excluded = {}) const {
    std::int64_t total = 0;
    for (const Entry& entry : entries())
      if (!lies_in(entry, excluded)) total += entry.bytes;
    return total;
  }

  // The same by the operation that saved a buffer first.
  std::map<std::string, std::int64_t> bytes_by_operation(std::span<const AnyTensor> excluded = {}) const {
    std::map<std::string, std::int64_t> totals;
    for (const Entry& entry : entries())
      if (!lies_in(entry, excluded)) totals[entry.operation] += entry.bytes;
    return totals;
  }

 private:
  // While one lives, something that was saved holds the buffer: the same address is the same buffer.
  struct Held {};
  struct Ticket {
    AnyTensor value;
    std::uint32_t version;
    std::shared_ptr<Held> held;
  };

  struct Counter final : SavedHooks {
    std::any pack(const AnyTensor& value, const SavedContext& context) override {
      std::weak_ptr<Held>& known = buffers[value.buffer()];
      std::shared_ptr<Held> held = known.lock();
      if (held == nullptr) {
        known = held = std::make_shared<Held>();
        entries.push_back({value.buffer(), value.body()->buffer->bytes(), context.operation, context.is_leaf});
      }
      return Ticket{value, value.body()->buffer->version(), std::move(held)};
    }
    AnyTensor unpack(const std::any& any_ticket) override {
      const auto& ticket = std::any_cast<const Ticket&>(any_ticket);
      if (ticket.value.body()->buffer->version() != ticket.version)
        fail<GraphError>("backward: a value of shape ", ticket.value.shape(), " was modified in place after it was saved");
      return ticket.value;
    }
    std::vector<Entry> entries;
    std::unordered_map<const void*, std::weak_ptr<Held>> buffers;
  };

  static bool lies_in(const Entry& entry, std::span<const AnyTensor> tensors) {
    for (const AnyTensor& tensor : tensors)
      if (tensor.buffer() == entry.buffer) return true;
    return false;
  }

  std::shared_ptr<Counter> counter_;
  HookScope scope_;
};

}  // namespace minitorch
