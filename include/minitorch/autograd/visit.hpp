// Modules: structs whose parts are visited by name. A part is a tensor, a module, or a container of parts.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <minitorch/autograd/tensor.hpp>

namespace minitorch {

namespace detail {
struct VisitNothing {
  template <class Part>
  void operator()(const char*, Part&) const {}
};
}  // namespace detail

// A struct with template <class Visitor> void visit(Visitor&& v) { v("weight", weight); v("inner", inner); ... }.
// The order of the calls is the order of the parameters. A part named "" gives its parts to its owner.
template <class M>
concept Module = requires(M& module, detail::VisitNothing visitor) {
  module.visit(visitor);
};

namespace detail {

// Calls visitor(name, part) for every part below `part`, itself included, with dotted names; containers count from 0.
struct Walk {
  template <class Part, class Visitor>
  [[gnu::noinline]] static void part(const std::string& name, Part& part, Visitor& visitor) {
    visitor(name, part);
    if constexpr (Module<Part>) {
      part.visit([&](const char* member, auto& inner) { Walk::part(joined(name, member), inner, visitor); });
    } else {
      elements(name, part, visitor);
    }
  }

 private:
  template <Element T, class Visitor>
  static void elements(const std::string&, Tensor<T>&, Visitor&) {}
  template <class P, class Visitor>
  static void elements(const std::string& name, std::vector<P>& parts, Visitor& visitor) {
    for (std::size_t i = 0; i < parts.size(); ++i) element(name, i, parts[i], visitor);
  }
  template <class P, std::size_t N, class Visitor>
  static void elements(const std::string& name, std::array<P, N>& parts, Visitor& visitor) {
    for (std::size_t i = 0; i < N; ++i) element(name, i, parts[i], visitor);
  }
  template <class... P, class Visitor>
  static void elements(const std::string& name, std::tuple<P...>& parts, Visitor& visitor) {
    std::size_t i = 0;
    std::apply([&](P&... p) { (element(name, i++, p, visitor), ...); }, parts);
  }
  template <class P, class Visitor>
  static void elements(const std::string& name, std::optional<P>& maybe, Visitor& visitor) {
    if (maybe) part(name, *maybe, visitor);
  }
  template <class P, class Visitor>
  static void elements(const std::string& name, std::unique_ptr<P>& maybe, Visitor& visitor) {
    if (maybe) part(name, *maybe, visitor);
  }
  template <class P, class Visitor>
  static void element(const std::string& name, std::size_t index, P& p, Visitor& visitor) {
    part(joined(name, concat(index)), p, visitor);
  }
  static std::string joined(const std::string& outer, const std::string& inner) {
    return outer.empty() || inner.empty() ? outer + inner : outer + '.' + inner;
  }
};

}  // namespace detail

// Calls f(name, module) for `module` (name "") and every module inside it, outer ones first.
template <Module M, class F>
void for_each_module(M& module, F&& f) {
  const auto visitor = [&]<class Part>(const std::string& name, Part& part) {
    if constexpr (Module<Part>) f(name, part);
  };
  detail::Walk::part({}, module, visitor);
}

// Calls f(name, tensor) for every tensor of the module that is defined: parameters and buffers, in the order of visits.
template <Module M, class F>
void for_each_tensor(M& module, F&& f) {
  const auto on_tensor = [&]<Element T>(const std::string& name, Tensor<T>& tensor) {
    if (tensor.defined()) f(name, tensor);
  };
  const auto visitor = [&]<class Part>(const std::string& name, Part& part) {
    if constexpr (requires { on_tensor(name, part); }) on_tensor(name, part);
  };
  detail::Walk::part({}, module, visitor);
}

// The same for the tensors that require a gradient.
template <Module M, class F>
void for_each_parameter(M& module, F&& f) {
  for_each_tensor(module, [&]<Element T>(const std::string& name, Tensor<T>& tensor) {
    if constexpr (Scalar<T>) {
      if (tensor.requires_grad()) f(name, tensor);
    }
  });
}

template <Scalar T>
struct NamedParameter {
  std::string name;
  Tensor<T> tensor;
};

// The parameters in the order of visits, each once however often it is visited. Throws ArgumentError for one of another scalar type.
template <Scalar T, Module M>
std::vector<NamedParameter<T>> named_parameters(M& module) {
  std::vector<NamedParameter<T>> found;
  for_each_parameter(module, [&]<Scalar U>(const std::string& name, const Tensor<U>& tensor) {
    if constexpr (std::same_as<T, U>) {
      for (const auto& earlier : found)
        if (earlier.tensor.body()->node.get() == tensor.body()->node.get()) return;
      found.push_back({name, tensor});
    } else {
      fail<ArgumentError>("parameters: ", name, " is ", dtype_name(dtype_of<U>), ", not ", dtype_name(dtype_of<T>));
    }
  });
  return found;
}

}  // namespace minitorch
