// softmax, log_softmax and logsumexp of rows, with their gradients. Shapes: x, y, dy, dx [rows, n].
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <limits>

#include <minitorch/kernels/math/exp.hpp>
#include <minitorch/kernels/rows.hpp>
#include <minitorch/memory/workspace.hpp>

namespace minitorch::kernels {

namespace detail {

// The largest element of a row; NaN when there is one.
template <int Bytes, class T>
[[gnu::always_inline]] inline compute_t<T> row_max(std::int64_t n, const T* x) {
  using C = compute_t<T>;
  constexpr int W = Bytes / int{sizeof(C)};
  const T lowest = static_cast<T>(-std::numeric_limits<C>::infinity());
  Pack<C, W> most(-std::numeric_limits<C>::infinity());
  for (std::int64_t i = 0; i < n; i += W) most = maximum(most, load_some<Pack<C, W>>(x + i, n - i, lowest));
  return largest(most);
}

// The sum of e^(x - max), and the terms themselves when `terms` is not null.
template <int Bytes, class T>
[[gnu::always_inline]] inline double row_exp_sum(std::int64_t n, const T* x, compute_t<T> max, compute_t<T>* terms) {
  using C = compute_t<T>;
  constexpr int W = Bytes / int{sizeof(C)};
  const T lowest = static_cast<T>(-std::numeric_limits<C>::infinity());
  Total<C, W> total;
  for (std::int64_t i = 0; i < n; i += W) {
    const Pack<C, W> e = exp(load_some<Pack<C, W>>(x + i, n - i, lowest) - Pack<C, W>(max));
    total.add(e);
    if (terms != nullptr) store_some(terms + i, e, n - i);
  }
  return total.value();
}

// The largest element and the logarithm of the sum of e^(x - largest); -inf and 0 for a row of -inf.
struct LogSum {
  double max, log;
};
template <int Bytes, class T>
[[gnu::always_inline]] inline LogSum row_log_sum(std::int64_t n, const T* x) {
  const auto max = row_max<Bytes>(n, x);
  if (std::isinf(max)) return {static_cast<double>(max), 0};
  return {static_cast<double>(max), std::log(row_exp_sum<Bytes, T>(n, x, max, nullptr))};
}

}  // namespace detail

// y = e^(x - max) / sum. A row of -inf, or one with +inf or NaN, gives NaN.
template <Scalar T>
void softmax(std::int64_t rows, std::int64_t n, const T* x, T* y) {
  using C = compute_t<T>;
  detail::parallel_rows(
      rows, n, [=](auto bytes, std::int64_t first, std::int64_t last) __attribute__((always_inline)) {
        constexpr int W = bytes() / int{sizeof(C)};
        const Workspace<C> narrow_terms(is_narrow<T> ? n : 0);
        for (std::int64_t r = first; r < last; ++r) {
          const T* from = x + r * n;
          T* to = y + r * n;
          C* terms = narrow_terms.data();
          if constexpr (!is_narrow<T>) terms = to;
          const double sum = detail::row_exp_sum<bytes()>(n, from, detail::row_max<bytes()>(n, from), terms);
          const Pack<C, W> factor(1 / sum);
          for (std::int64_t i = 0; i < n; i += W)
            detail::store_some(to + i, detail::load_some<Pack<C, W>>(terms + i, n - i) * factor, n - i);
        }
      });
}

// dx = y (dy - sum(dy y)).
template <Scalar T>
void softmax_backward(std::int64_t rows, std::int64_t n, const T* y, const T* dy, T* dx) {
  using C = compute_t<T>;
  detail::parallel_rows(
      rows, n, [=](auto bytes, std::int64_t first, std::int64_t last) __attribute__((always_inline)) {
        constexpr int W = bytes() / int{sizeof(C)};
        using P = Pack<C, W>;
        for (std::int64_t r = first; r < last; ++r) {
          const T *ry = y + r * n, *rdy = dy + r * n;
          detail::Total<C, W> total;
          for (std::int64_t i = 0; i < n; i += W) total.add(detail::load_some<P>(ry + i, n - i) * detail::load_some<P>(rdy + i, n - i));
          const P dot(total.value());
          for (std::int64_t i = 0; i < n; i += W)
            detail::store_some(dx + r * n + i, detail::load_some<P>(ry + i, n - i) * (detail::load_some<P>(rdy + i, n - i) - dot), n - i);
        }
      });
}

// y = x - max - log(sum(e^(x - max))).
template <Scalar T>
void log_softmax(std::int64_t rows, std::int64_t n, const T* x, T* y) {
  using C = compute_t<T>;
  detail::parallel_rows(
      rows, n, [=](auto bytes, std::int64_t first, std::int64_t last) __attribute__((always_inline)) {
        constexpr int W = bytes() / int{sizeof(C)};
        using P = Pack<C, W>;
        for (std::int64_t r = first; r < last; ++r) {
          const detail::LogSum sum = detail::row_log_sum<bytes()>(n, x + r * n);
          for (std::int64_t i = 0; i < n; i += W)
            detail::store_some(y + r * n + i, (detail::load_some<P>(x + r * n + i, n - i) - P(sum.max)) - P(sum.log), n - i);
        }
      });
}

// dx = dy - e^y sum(dy).
template <Scalar T>
void log_softmax_backward(std::int64_t rows, std::int64_t n, const T* y, const T* dy, T* dx) {
  using C = compute_t<T>;
  detail::parallel_rows(
      rows, n, [=](auto bytes, std::int64_t first, std::int64_t last) __attribute__((always_inline)) {
        constexpr int W = bytes() / int{sizeof(C)};
        using P = Pack<C, W>;
        for (std::int64_t r = first; r < last; ++r) {
          const T *ry = y + r * n, *rdy = dy + r * n;
          detail::Total<C, W> total;
          for (std::int64_t i = 0; i < n; i += W) total.add(detail::load_some<P>(rdy + i, n - i));
          const P sum(total.value());
          for (std::int64_t i = 0; i < n; i += W)
            detail::store_some(dx + r * n + i, detail::load_some<P>(rdy + i, n - i) - exp(detail::load_some<P>(ry + i, n - i)) * sum,
                               n - i);
        }
      });
}

// out[r] = log(sum(e^x)) of row r; -inf for a row of -inf, inf for a row with inf.
template <Scalar T, class Out>
void logsumexp(std::int64_t rows, std::int64_t n, const T* x, Out* out) {
  detail::parallel_rows(
      rows, n, [=](auto bytes, std::int64_t first, std::int64_t last) __attribute__((always_inline)) {
        for (std::int64_t r = first; r < last; ++r) {
          const detail::LogSum sum = detail::row_log_sum<bytes()>(n, x + r * n);
          store(out + r, Pack<double, 1>(sum.max + sum.log));
        }
      });
}

}  // namespace minitorch::kernels
