// Sequential: modules one after the other.
// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>
#include <utility>

#include <minitorch/nn/module.hpp>

namespace minitorch::nn {

// Sequential(Linear<float>(8, 16), ReLU(), Linear<float>(16, 4)); the parts are named 0, 1, ...
template <Module... Parts>
class Sequential : detail::MoveOnly {
 public:
  std::tuple<Parts...> parts;

  explicit Sequential(Parts... p) : parts(std::move(p)...) {}

  Sequential clone() const {
    return std::apply([](const Parts&... part) { return Sequential(detail::Cloner::copy(part)...); }, parts);
  }

  template <class X>
  auto operator()(const X& x) const {
    return run<0>(x);
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("", parts);
  }

 private:
  template <std::size_t Index, class X>
  auto run(const X& x) const {
    if constexpr (Index + 1 == sizeof...(Parts))
      return std::get<Index>(parts)(x);
    else
      return run<Index + 1>(std::get<Index>(parts)(x));
  }
};

}  // namespace minitorch::nn
