// TransformerBlock: x + attention(norm(x)), then x + mlp(norm(x)), in parts that can be exchanged.
// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>
#include <utility>

#include <minitorch/nn/attention.hpp>
#include <minitorch/nn/dropout.hpp>
#include <minitorch/nn/mlp.hpp>
#include <minitorch/nn/norm.hpp>

namespace minitorch::nn {

namespace detail {
// x in the scalar type U; as it is when it has that type, or when U is void.
template <class U, class X>
decltype(auto) converted(const X& x) {
  if constexpr (std::is_void_v<U> || requires { requires std::is_same_v<U, typename X::value_type>; })
    return (x);
  else
    return x.template to<U>();
}
}  // namespace detail

// Pre-norm (GPT-2). The residual stream keeps the type of x; attention and mlp compute in C, or with void in the type of x. Any
// modules do, also ones whose values are spread over ranks.
template <Module Norm, Module Attention, Module Feed, class C = void>
class ResidualBlock : detail::MoveOnly {
 public:
  Norm norm1;
  Attention attention;
  Norm norm2;
  Feed mlp;
  Dropout dropout;

  ResidualBlock(Norm n1, Attention a, Norm n2, Feed m, double drop = 0)
      : norm1(std::move(n1)), attention(std::move(a)), norm2(std::move(n2)), mlp(std::move(m)), dropout(drop) {}

  ResidualBlock clone() const {
    ResidualBlock copy(detail::Cloner::copy(norm1), detail::Cloner::copy(attention), detail::Cloner::copy(norm2), detail::Cloner::copy(mlp),
                       dropout.p);
    copy.dropout.training = dropout.training;
    return copy;
  }

  template <class X>
  X operator()(const X& x) const {
    return run(x, [this](const auto& normed) { return attention(normed); });
  }
  // With the keys and values of earlier positions; without gradients.
  template <class X, class Cache>
  X operator()(const X& x, Cache& cache) const {
    const NoGrad guard;
    return run(x, [&](const auto& normed) { return attention(normed, cache); });
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("norm1", norm1);
    v("attention", attention);
    v("norm2", norm2);
    v("mlp", mlp);
    v("dropout", dropout);
  }

 private:
  template <class X, class Attend>
  X run(const X& x, const Attend& attend) const {
    const X middle = joined(x, attend(detail::converted<C>(norm1(x))));
    return joined(middle, mlp(detail::converted<C>(norm2(middle))));
  }
  template <class X, class Y>
  X joined(const X& x, const Y& change) const {
    if constexpr (std::is_void_v<C>)
      return add(x, dropout(change));
    else
      return add(x, detail::converted<typename X::value_type>(dropout(change)));
  }
};

template <Scalar T, class C = void, Module Act = GELU>
using TransformerBlock = ResidualBlock<LayerNorm<T>, MultiHeadAttention<T>, MLP<T, Act>, C>;

}  // namespace minitorch::nn
