// StateDict: named tensors in a fixed order, what is saved and loaded.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <minitorch/autograd/any_tensor.hpp>

namespace minitorch {

class StateDict {
 public:
  using Entry = std::pair<std::string, AnyTensor>;

  // Throws ArgumentError for a name that is there already.
  void add(std::string name, AnyTensor tensor) {
    if (find(name) != nullptr) fail<ArgumentError>("state dict: the name ", name, " is there twice");
    entries_.emplace_back(std::move(name), std::move(tensor));
  }

  const AnyTensor* find(std::string_view name) const {
    for (const Entry& entry : entries_)
      if (entry.first == name) return &entry.second;
    return nullptr;
  }
  // Throws ArgumentError for an unknown name.
  const AnyTensor& at(std::string_view name) const {
    if (const AnyTensor* tensor = find(name)) return *tensor;
    fail<ArgumentError>("state dict: there is no ", name);
  }

  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace minitorch
