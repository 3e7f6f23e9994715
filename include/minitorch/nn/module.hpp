// What can be done with any module: list, count, save, load and switch its parts.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <minitorch/autograd/leaf.hpp>
#include <minitorch/autograd/state_dict.hpp>
#include <minitorch/autograd/visit.hpp>
#include <minitorch/nn/clone.hpp>

namespace minitorch::nn {

// The parameters in the order of visits, each once. Throws ArgumentError for one of another scalar type.
template <Scalar T, Module M>
std::vector<Tensor<T>> parameters(M& module) {
  std::vector<Tensor<T>> tensors;
  for (auto& named : named_parameters<T>(module)) tensors.push_back(std::move(named.tensor));
  return tensors;
}

// The number of single parameters; a shared one counts once.
template <Module M>
std::int64_t parameter_count(M& module) {
  std::vector<const Node*> seen;
  std::int64_t count = 0;
  for_each_parameter(module, [&](const std::string&, const auto& tensor) {
    const Node* leaf = tensor.body()->node.get();
    if (std::find(seen.begin(), seen.end(), leaf) != seen.end()) return;
    seen.push_back(leaf);
    count += tensor.numel();
  });
  return count;
}

// Forgets the gradients of all parameters.
template <Module M>
void zero_grad(M& module) {
  for_each_parameter(module, [](const std::string&, auto& tensor) { tensor.zero_grad(); });
}

// Every tensor of the module by its name, parameters and buffers. Shares the memory: clone what must stay as it is.
template <Module M>
StateDict state_dict(M& module) {
  StateDict state;
  for_each_tensor(module, [&](const std::string& name, const auto& tensor) { state.add(name, tensor.detach()); });
  return state;
}

// Copies values into the module's tensors, in place: optimizers keep their hold. Throws ArgumentError that lists every missing,
// unexpected and mismatched name; then nothing was changed.
template <Module M>
void load_state_dict(M& module, const StateDict& state) {
  std::vector<std::string> names;
  std::string problems;
  const auto problem = [&](const auto&... parts) { problems += concat(problems.empty() ? "" : "; ", parts...); };
  for_each_tensor(module, [&]<Element T>(const std::string& name, const Tensor<T>& tensor) {
    names.push_back(name);
    const AnyTensor* found = state.find(name);
    if (found == nullptr)
      problem(name, " is missing");
    else if (found->dtype() != dtype_of<T> || !(found->shape() == tensor.shape()))
      problem(name, " is ", dtype_name(found->dtype()), ' ', found->shape(), " but must be ", dtype_name(dtype_of<T>), ' ', tensor.shape());
  });
  for (const auto& [name, tensor] : state)
    if (std::find(names.begin(), names.end(), name) == names.end()) problem(name, " is unexpected");
  if (!problems.empty()) fail<ArgumentError>("load_state_dict: ", problems);
  const NoGrad guard;
  for_each_tensor(module, [&](const std::string& name, auto& tensor) {
    const auto from = state.at(name).data();
    if (!from.empty()) std::memmove(tensor.mutable_data(), from.data(), from.size());
  });
}

// Switches every part that behaves differently in training (dropout) to training or to use. Modules start in training.
template <Module M>
void set_training(M& module, bool training) {
  for_each_module(module, [&]<class Part>(const std::string&, Part& part) {
    if constexpr (requires { part.training = training; }) part.training = training;
  });
}
template <Module M>
void train(M& module) {
  set_training(module, true);
}
template <Module M>
void eval(M& module) {
  set_training(module, false);
}

// Keeps gradients away from all parameters of a module, or gives them back: a frozen parameter is no parameter to an optimizer.
template <Module M>
void set_requires_grad(M& module, bool wanted) {
  for_each_tensor(module, [&]<Element T>(const std::string&, Tensor<T>& tensor) {
    if constexpr (Scalar<T>) tensor.set_requires_grad(wanted);
  });
}

}  // namespace minitorch::nn
