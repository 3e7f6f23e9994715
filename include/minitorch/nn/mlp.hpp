// MLP: two linear layers with an activation between them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

#include <minitorch/nn/activation.hpp>
#include <minitorch/nn/linear.hpp>

namespace minitorch::nn {

template <Scalar T, Module Act = GELU>
class MLP : detail::MoveOnly {
 public:
  Linear<T> up, down;
  Act activation;

  MLP(std::int64_t in, std::int64_t inner, std::int64_t out, const LinearOptions& up_options = {}, const LinearOptions& down_options = {})
      : up(in, inner, up_options), down(inner, out, down_options) {}
  MLP(Linear<T> u, Linear<T> d, Act act = {}) : up(std::move(u)), down(std::move(d)), activation(std::move(act)) {}

  MLP clone() const { return MLP(up.clone(), down.clone(), detail::Cloner::copy(activation)); }

  template <class X>
  auto operator()(const X& x) const {
    return down(activation(up(x)));
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("up", up);
    v("down", down);
    v("activation", activation);
  }
};

}  // namespace minitorch::nn
