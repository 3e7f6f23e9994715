// Clipping gradients, by their norm or value by value.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/kernels/map.hpp>
#include <minitorch/kernels/reduce.hpp>

namespace minitorch::optim {

struct ClipOptions {
  double norm_type = 2;             // infinity: the largest magnitude
  bool error_if_nonfinite = false;  // ArgumentError instead of gradients that become NaN or zero
  // Where parameters are spread over ranks: this rank's norm to that of all. By default there is one rank.
  std::function<double(double)> combine = {};
};

namespace detail {

// The p-norm of n numbers, without overflow or underflow: sums are kept in double, and scaled when that is not enough.
template <Scalar C>
double norm_of(std::int64_t n, const C* x, double p) {
  if (n == 0) return 0;
  double sum = 0;
  if (p == 2) {  // one pass is enough when no square that counts has left the range
    kernels::reduce<kernels::SumSquares>(1, n, 1, x, &sum);
    if (sum > 1e-270 && sum < 1e300) return std::sqrt(sum);
  }
  C low{}, high{};
  kernels::reduce<kernels::Max>(1, n, 1, x, &high);
  kernels::reduce<kernels::Min>(1, n, 1, x, &low);
  const double largest = (std::max)(std::abs(static_cast<double>(high)), std::abs(static_cast<double>(low)));
  if (std::isnan(static_cast<double>(high))) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(p) || largest == 0 || std::isinf(largest)) return largest;
  sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::pow(std::abs(static_cast<double>(x[i])) / largest, p);
  return largest * std::pow(sum, 1 / p);
}

}  // namespace detail

// The norm of all gradients together: the p-norm of the tensors' p-norms. Parameters without a gradient do not count.
template <Scalar T>
double grad_norm(const std::vector<Tensor<T>>& parameters, const ClipOptions& options = {}) {
  std::vector<double> norms;
  for (const Tensor<T>& parameter : parameters)
    if (const auto gradient = parameter.grad(); gradient.defined())
      norms.push_back(detail::norm_of(gradient.numel(), gradient.data(), options.norm_type));
  const double total = detail::norm_of(static_cast<std::int64_t>(norms.size()), norms.data(), options.norm_type);
  return options.combine ? options.combine(total) : total;
}

// Multiplies every gradient by a number, in place.
template <Scalar T>
void scale_grads_(const std::vector<Tensor<T>>& parameters, double factor) {
  using Wide = compute_t<T>;
  if (factor == 1) return;
  const NoGrad guard;
  for (const Tensor<T>& parameter : parameters) {
    Tensor<Wide> gradient = parameter.grad();
    if (!gradient.defined()) continue;
    Wide* data = gradient.mutable_data();
    kernels::map(
        gradient.numel(), [s = static_cast<Wide>(factor)](const auto& g) { return g * s; }, data, static_cast<const Wide*>(data));
  }
}

// Scales the gradients so that their norm is at most max_norm, and returns the norm that they had.
template <Scalar T>
double clip_grad_norm_(const std::vector<Tensor<T>>& parameters, double max_norm, const ClipOptions& options = {}) {
  const double norm = grad_norm(parameters, options);
  if (options.error_if_nonfinite && !std::isfinite(norm)) fail<ArgumentError>("clip_grad_norm_: the norm of the gradients is ", norm);
  scale_grads_(parameters, (std::min)(1.0, max_norm / (norm + 1e-6)));
  return norm;
}

// Moves every gradient value into [-limit, limit]. NaN stays NaN.
template <Scalar T>
void clip_grad_value_(const std::vector<Tensor<T>>& parameters, double limit) {
  using Wide = compute_t<T>;
  const NoGrad guard;
  for (const Tensor<T>& parameter : parameters) {
    Tensor<Wide> gradient = parameter.grad();
    if (!gradient.defined()) continue;
    Wide* data = gradient.mutable_data();
    kernels::map(
        gradient.numel(),
        [high = static_cast<Wide>(limit)]<class P>(const P& g) { return select(g > P(high), P(high), select(g < P(-high), P(-high), g)); },
        data, static_cast<const Wide*>(data));
  }
}

}  // namespace minitorch::optim
