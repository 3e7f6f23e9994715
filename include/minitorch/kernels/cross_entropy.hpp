// Cross entropy of logits [rows, classes] and class indices [rows]: loss and gradient without a tensor of probabilities.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/softmax.hpp>

namespace minitorch::kernels {

struct CrossEntropy {
  std::int64_t classes = 0;
  std::int64_t ignore_index = -100;
  double smoothing = 0;             // e: the share of each target that is spread over all classes
  const double* weights = nullptr;  // one a class; null means 1

  double weight(std::int64_t c) const { return weights == nullptr ? 1 : weights[c]; }
  double weight_sum() const {
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += weight(c);
    return sum;
  }
};

// The sum of the weights of the targets that are not ignored: what the mean divides by. Throws ArgumentError for a target that is
// neither a class nor ignored.
inline double target_weight(const CrossEntropy& ce, std::int64_t rows, const std::int64_t* targets) {
  double sum = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    if (targets[r] == ce.ignore_index) continue;
    if (targets[r] < 0 || targets[r] >= ce.classes)
      fail<ArgumentError>("cross_entropy: a target must be in [0, ", ce.classes, "), got ", targets[r], " in row ", r);
    sum += ce.weight(targets[r]);
  }
  return sum;
}

// loss[r] = (1 - e) w_t (lse - x_t) + e / classes sum_c w_c (lse - x_c), 0 for an ignored row; lse[r] = log(sum_c e^x_c).
// The targets have been checked by target_weight.
template <Scalar T>
void cross_entropy(const CrossEntropy& ce, std::int64_t rows, const T* x, const std::int64_t* targets, double* loss, double* lse) {
  using C = compute_t<T>;
  const std::int64_t n = ce.classes;
  const double weight_sum = ce.smoothing == 0 ? 0 : ce.weight_sum();
  detail::parallel_rows(
      rows, n, [ =, &ce ](auto bytes, std::int64_t first, std::int64_t last) __attribute__((always_inline)) {
        constexpr int W = bytes() / int{sizeof(C)};
        using P = Pack<C, W>;
        for (std::int64_t r = first; r < last; ++r) {
          const T* row = x + r * n;
          loss[r] = lse[r] = 0;
          const std::int64_t t = targets[r];
          if (t == ce.ignore_index) continue;
          const detail::LogSum sum = detail::row_log_sum<bytes()>(n, row);
          lse[r] = sum.max + sum.log;
          loss[r] = (1 - ce.smoothing) * ce.weight(t) * ((sum.max - static_cast<double>(row[t])) + sum.log);
          if (ce.smoothing == 0) continue;
          detail::Total<C, W> below;  // sum_c w_c (max - x_c)
          for (std::int64_t i = 0; i < n; i += W) {
            const P gap = P(sum.max) - detail::load_some<P>(row + i, n - i, static_cast<T>(static_cast<C>(sum.max)));
            const P w = ce.weights == nullptr ? P(1) : detail::load_some<P>(ce.weights + i, n - i);
            below.add(select(w == P(0), P(0), gap * w));
          }
          loss[r] += ce.smoothing / static_cast<double>(n) * (weight_sum * sum.log + below.value());
        }
      });
}

// dx = scale[r] d loss[r] / dx, in one pass; zeros in ignored rows, whatever their scale. dx may be x.
template <Scalar T>
void cross_entropy_backward(const CrossEntropy& ce, std::int64_t rows, const T* x, const std::int64_t* targets, const double* lse,
                            const double* scale, T* dx) {
  using C = compute_t<T>;
  const std::int64_t n = ce.classes;
  const double spread = ce.smoothing / static_cast<double>(n), weight_sum = ce.smoothing == 0 ? 0 : ce.weight_sum();
  detail::parallel_rows(
      rows, n, [ =, &ce ](auto bytes, std::int64_t first, std::int64_t last) __attribute__((always_inline)) {
        constexpr int W = bytes() / int{sizeof(C)};
        using P = Pack<C, W>;
        for (std::int64_t r = first; r < last; ++r) {
          const T* row = x + r * n;
          T* to = dx + r * n;
          const std::int64_t t = targets[r];
          if (t == ce.ignore_index) {
            for (std::int64_t i = 0; i < n; ++i) to[i] = T(0);
            continue;
          }
          const double at_target = (1 - ce.smoothing) * ce.weight(t) * scale[r];
          const P high(lse[r]), low(lse[r] - static_cast<double>(high[0])), all(at_target + spread * weight_sum * scale[r]),
              each(spread * scale[r]);
          const auto gradient = [=](const P& logits, const P& w) __attribute__((always_inline)) {
            return exp((logits - high) - low) * all - each * w;
          };
          const P target_gradient = gradient(P(static_cast<C>(row[t])), P(ce.weight(t))) - P(at_target);
          for (std::int64_t i = 0; i < n; i += W) {
            const P w = ce.weights == nullptr ? P(1) : detail::load_some<P>(ce.weights + i, n - i);
            detail::store_some(to + i, gradient(detail::load_some<P>(row + i, n - i), w), n - i);
          }
          detail::store_some(to + t, target_gradient, 1);
        }
      });
}

}  // namespace minitorch::kernels
