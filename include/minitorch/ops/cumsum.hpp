// cumsum and cumprod: running sums and products.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/ops/composite_grad.hpp>
#include <minitorch/ops/concatenate.hpp>
#include <minitorch/ops/mul.hpp>

namespace minitorch {

struct CumSum : Operation<CumSum> {
  using Operation<CumSum>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, int dim) const;
};
// value     y_i = x_0 + ... + x_i along `dim`, kept in double
// gradient  the running sum of dy from the other end
// saves     nothing
inline constexpr CumSum cumsum;

struct CumProd : Operation<CumProd> {
  using Operation<CumProd>::operator();
  template <Scalar T>
  Tensor<T> operator()(const Tensor<T>& x, int dim) const;
};
// value     y_i = x_0 ... x_i along `dim`, kept in double
// gradient  dx_k = sum over i >= k of dy_i times the product of the others up to i; right where elements are 0
// saves     x
inline constexpr CumProd cumprod;

namespace detail {

// x as [outer, n, inner] around one dimension.
struct Lanes3 {
  std::int64_t outer, n, inner;
  Lanes3(const Shape& shape, int d) : outer(shape.product(0, d)), n(shape[d]), inner(shape.product(d + 1, shape.rank())) {}
  // Calls body(first, stride) for each line of n elements.
  template <class Body>
  void for_each_line(Body body) const {
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t j = 0; j < inner; ++j) body(o * n * inner + j, inner);
  }
};

template <Scalar T>
T rounded_to(double x) {
  return static_cast<T>(static_cast<compute_t<T>>(x));
}

template <Scalar T>
Tensor<T> running_sum(const Tensor<T>& x, int d, bool backwards) {
  return record<T>(
      "cumsum", x.shape(),
      [&](T* out) {
        const Lanes3 lanes(x.shape(), d);
        lanes.for_each_line([&](std::int64_t first, std::int64_t stride) {
          double total = 0;
          for (std::int64_t i = 0; i < lanes.n; ++i) {
            const std::int64_t at = first + (backwards ? lanes.n - 1 - i : i) * stride;
            total += static_cast<double>(x.data()[at]);
            out[at] = rounded_to<T>(total);
          }
        });
      },
      wrt(
          x, [](const Tensor<T>& dy, int along, bool reversed) { return running_sum(dy, along, !reversed); }, d, backwards));
}

// The definition by multiplications, for when backward itself is differentiated.
template <Scalar T>
Tensor<T> composite_cumprod(const Tensor<T>& x, int d) {
  std::vector<Tensor<T>> products;
  for (std::int64_t i = 0; i < x.shape()[d]; ++i) {
    const Tensor<T> next = take_range(x, d, i, 1);
    products.push_back(products.empty() ? next : mul(products.back(), next));
  }
  return products.empty() ? x : concatenate(products, d);
}

}  // namespace detail

template <Scalar T>
Tensor<T> CumSum::operator()(const Tensor<T>& x, int dim) const {
  return detail::running_sum(x, x.shape().dim(dim, "cumsum"), false);
}

template <Scalar T>
Tensor<T> CumProd::operator()(const Tensor<T>& x, int dim) const {
  const int d = x.shape().dim(dim, "cumprod");
  return record<T>(
      "cumprod", x.shape(),
      [&](T* out) {
        const detail::Lanes3 lanes(x.shape(), d);
        lanes.for_each_line([&](std::int64_t first, std::int64_t stride) {
          double product = 1;
          for (std::int64_t i = 0; i < lanes.n; ++i) {
            product *= static_cast<double>(x.data()[first + i * stride]);
            out[first + i * stride] = detail::rounded_to<T>(product);
          }
        });
      },
      wrt(
          x,
          [](const Tensor<T>& dy, const Tensor<T>& input, int along) {
            if (grad_enabled()) {
              const auto f = [along](const Tensor<T>& a) { return detail::composite_cumprod(a, along); };
              return std::get<0>(detail::composite_grad(f, dy, input));
            }
            // From the end, s_i = dy_i + x_(i+1) s_(i+1) is what y_i gives on, and dx_i = (x_0 ... x_(i-1)) s_i: no division.
            return compute<T>("cumprod gradient", dy.shape(), [&](T* out) {
              const detail::Lanes3 lanes(input.shape(), along);
              const Workspace<double> before(lanes.n);
              lanes.for_each_line([&](std::int64_t first, std::int64_t stride) {
                double product = 1, later = 0;
                for (std::int64_t i = 0; i < lanes.n; ++i) {
                  before[i] = product;
                  product *= static_cast<double>(input.data()[first + i * stride]);
                }
                for (std::int64_t i = lanes.n - 1; i >= 0; --i) {
                  const std::int64_t at = first + i * stride;
                  later =
                      static_cast<double>(dy.data()[at]) + (i + 1 < lanes.n ? static_cast<double>(input.data()[at + stride]) * later : 0.0);
                  out[at] = detail::rounded_to<T>(before[i] * later);
                }
              });
            });
          },
          x, d));
}

}  // namespace minitorch
