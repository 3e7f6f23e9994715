// where and masked_fill: choices by a mask.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/broadcast.hpp>
#include <minitorch/ops/pointwise.hpp>

namespace minitorch {

struct MaskedFill : Operation<MaskedFill> {
  using Operation<MaskedFill>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, const Tensor<bool>& mask, std::type_identity_t<compute_t<T>> value) const;
};
// value     `value` where the mask is true, x elsewhere; broadcast
// gradient  0 where the mask is true, dy elsewhere
// saves     the mask
inline constexpr MaskedFill masked_fill;

struct Where : Operation<Where> {
  using Operation<Where>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<bool>& condition, const Tensor<T>& a, const Tensor<T>& b) const;
  template <Scalar T>
  Tensor<T> operator()(const Tensor<bool>& condition, const Tensor<T>& a, std::type_identity_t<compute_t<T>> b) const;
  template <Scalar T>
  Tensor<T> operator()(const Tensor<bool>& condition, std::type_identity_t<compute_t<T>> a, const Tensor<T>& b) const;
};
// value     a where the condition holds, b elsewhere; broadcast
// gradient  dy for the one that was chosen, 0 for the other
// saves     the condition
inline constexpr Where where;

namespace detail {

// x where the mask is `keep`, `value` elsewhere.
template <Scalar T>
Tensor<T> keep_where(const char* name, const Tensor<T>& x, const Tensor<bool>& mask, bool keep, compute_t<T> value) {
  const Shape shape = common_shape(x.shape(), mask.shape(), name);
  return record<T>(
      name, shape,
      [&](T* out) {
        if (keep)
          map_pair(
              shape, [value](const auto& v, const auto& m) { return select(m, v, decltype(v + v)(value)); }, out, x, mask);
        else
          map_pair(
              shape, [value](const auto& v, const auto& m) { return select(m, decltype(v + v)(value), v); }, out, x, mask);
      },
      wrt(
          x, [](const Tensor<T>& dy, const Tensor<bool>& chosen, bool kept) { return keep_where("where gradient", dy, chosen, kept, 0); },
          mask, keep));
}

}  // namespace detail

template <Scalar T>
Tensor<T> MaskedFill::operator()(const Tensor<T>& x, const Tensor<bool>& mask, std::type_identity_t<compute_t<T>> value) const {
  return detail::keep_where("masked_fill", x, mask, false, value);
}

template <Scalar T>
Tensor<T> Where::operator()(const Tensor<bool>& condition, const Tensor<T>& a, const Tensor<T>& b) const {
  const Shape shape = broadcast_shapes(condition.shape(), detail::common_shape(a.shape(), b.shape(), "where"), "where");
  const auto rule = []<bool Kept>(std::bool_constant<Kept>) {
    return [](const Tensor<T>& dy, const Tensor<bool>& chosen) { return detail::keep_where("where gradient", dy, chosen, Kept, 0); };
  };
  return record<T>(
      "where", shape,
      [&](T* out) {
        kernels::map_broadcast(
            shape, [](const auto& m, const auto& x, const auto& y) { return select(m, x, y); }, out,
            kernels::broadcast_operand(condition.data(), condition.shape()), kernels::broadcast_operand(a.data(), a.shape()),
            kernels::broadcast_operand(b.data(), b.shape()));
      },
      wrt(a, rule(std::true_type()), condition), wrt(b, rule(std::false_type()), condition));
}

template <Scalar T>
Tensor<T> Where::operator()(const Tensor<bool>& condition, const Tensor<T>& a, std::type_identity_t<compute_t<T>> b) const {
  return detail::keep_where("where", a, condition, true, b);
}

template <Scalar T>
Tensor<T> Where::operator()(const Tensor<bool>& condition, std::type_identity_t<compute_t<T>> a, const Tensor<T>& b) const {
  return detail::keep_where("where", b, condition, false, a);
}

}  // namespace minitorch
