// prod: the product over dimensions.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/autograd/placement.hpp>
#include <minitorch/kernels/reduce.hpp>
#include <minitorch/ops/composite_grad.hpp>
#include <minitorch/ops/mul.hpp>
#include <minitorch/ops/trailing.hpp>

namespace minitorch {

struct Prod : Operation<Prod> {
  using Operation<Prod>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, const Dims& dims = {}, bool keepdim = false) const;
};
// value     the product over `dims`, kept in double; 1 of no elements
// gradient  dy times the product of the other elements; right where elements are 0
// saves     x
inline constexpr Prod prod;

namespace detail {

// The definition by multiplications of [rows, n], for when backward itself is differentiated.
template <Scalar T>
Tensor<T> composite_prod(const Tensor<T>& rows) {
  Tensor<T> y = take_range(rows, 1, 0, 1);
  for (std::int64_t i = 1; i < rows.shape()[1]; ++i) y = mul(y, take_range(rows, 1, i, 1));
  return y.reshape({rows.shape()[0]});
}

}  // namespace detail

template <Scalar T>
Tensor<T> Prod::operator()(const Tensor<T>& x, const Dims& dims, bool keepdim) const {
  const detail::ReducedShape shape(x.shape(), dims, "prod");
  const Tensor<T> rows = detail::trailing_rows(x, dims, "prod");
  const Tensor<T> y = record<T>(
      "prod", {rows.shape()[0]}, [&](T* out) { kernels::reduce<kernels::Product>(rows.shape()[0], rows.shape()[1], 1, rows.data(), out); },
      wrt(
          rows,
          [](const Tensor<T>& dy, const Tensor<T>& input) {
            const std::int64_t n = input.shape()[1];
            if (grad_enabled() && n > 0)
              return std::get<0>(detail::composite_grad([](const Tensor<T>& a) { return detail::composite_prod(a); }, dy, input));
            return compute<T>("prod gradient", input.shape(), [&](T* out) {
              const Workspace<double> before(n);
              for (std::int64_t r = 0; r < input.shape()[0]; ++r) {
                const T* row = input.data() + r * n;
                double product = 1;
                for (std::int64_t i = 0; i < n; product *= static_cast<double>(row[i++])) before[i] = product;
                product = static_cast<double>(dy.data()[r]);
                for (std::int64_t i = n - 1; i >= 0; product *= static_cast<double>(row[i--]))
                  out[r * n + i] = static_cast<T>(static_cast<compute_t<T>>(before[i] * product));
              }
            });
          },
          rows));
  return y.reshape(shape.get(keepdim));
}

}  // namespace minitorch
