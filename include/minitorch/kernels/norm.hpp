// Layer norm and RMS norm of rows. Statistics are kept in double, so that neither a large offset nor a large square is lost.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include <minitorch/kernels/rows.hpp>
#include <minitorch/memory/workspace.hpp>

namespace minitorch::kernels {

namespace detail {

// Rows whose weight gradients are summed one after the other; a function of the size alone.
inline std::int64_t norm_piece(std::int64_t rows) { return (std::max<std::int64_t>)(32, (rows + 63) / 64); }

struct RowStatistics {
  double mean, rstd;
};

// The deviations from a mean: its float part and the rest are taken off one after the other, so that a large mean costs no digits.
template <class P>
class Deviation {
 public:
  using C = typename P::Scalar;
  [[gnu::always_inline]] explicit Deviation(double mean) : high_(mean), low_(mean - static_cast<double>(static_cast<C>(mean))) {}
  [[gnu::always_inline]] P operator()(const P& x) const { return (x - high_) - low_; }

 private:
  P high_, low_;
};

// The mean of (factor (x - mean))^2, computed in lanes of type C.
template <class C, int Bytes, class T>
[[gnu::always_inline]] inline double mean_square(std::int64_t n, const T* x, double mean, double factor) {
  using P = Pack<C, Bytes / int{sizeof(C)}>;
  const Deviation<P> deviation(mean);
  Total<C, P::width> sum;
  for (std::int64_t i = 0; i < n; i += P::width) {
    const P d = deviation(load_some<P>(x + i, n - i)) * P(factor);
    sum.add(n - i >= P::width ? d * d : select(first_lanes<P>(n - i), d * d, P(0)));
  }
  return sum.value() / static_cast<double>(n);
}

// mean and 1 / sqrt(mean of (x - mean)^2 + eps); the mean is 0 when the norm is not centred.
template <bool Centred, int Bytes, class T>
[[gnu::always_inline]] inline RowStatistics row_statistics(std::int64_t n, const T* x, double eps) {
  using C = compute_t<T>;
  double mean = 0;
  if constexpr (Centred) {
    using P = Pack<double, Bytes / int{sizeof(double)}>;
    Total<double, P::width> sum;
    for (std::int64_t i = 0; i < n; i += P::width) sum.add(load_some<P>(x + i, n - i));
    mean = sum.value() / static_cast<double>(n);
  }
  const double variance = mean_square<C, Bytes>(n, x, mean, 1);
  if constexpr (std::same_as<C, float>) {
    if (!(variance > 1e-30 && variance < 1e36)) return {mean, 1 / std::sqrt(mean_square<double, Bytes>(n, x, mean, 1) + eps)};
  } else if (std::isinf(variance)) {  // beyond the range of double: smaller units
    constexpr double factor = 0x1p-540;
    return {mean, factor / std::sqrt(mean_square<double, Bytes>(n, x, mean, factor) + eps * factor * factor)};
  }
  return {mean, 1 / std::sqrt(variance + eps)};
}

template <bool Centred, class T, class Parameter>
void norm(std::int64_t rows, std::int64_t n, const T* x, const Parameter* weight, const Parameter* bias, double eps, T* y, double* mean,
          double* rstd) {
  using C = compute_t<T>;
  parallel_rows(
      rows, n, [=](auto bytes, std::int64_t first, std::int64_t last) __attribute__((always_inline)) {
        using P = Pack<C, bytes() / int{sizeof(C)}>;
        for (std::int64_t r = first; r < last; ++r) {
          const RowStatistics row = row_statistics<Centred, bytes()>(n, x + r * n, eps);
          if (mean != nullptr) mean[r] = row.mean;
          rstd[r] = row.rstd;
          const Deviation<P> deviation(row.mean);
          const P scale(row.rstd);
          for (std::int64_t i = 0; i < n; i += P::width) {
            P value = deviation(load_some<P>(x + r * n + i, n - i)) * scale;
            if (weight != nullptr) value = value * load_some<P>(weight + i, n - i);
            if (bias != nullptr) value = value + load_some<P>(bias + i, n - i);
            store_some(y + r * n + i, value, n - i);
          }
        }
      });
}

template <bool Centred, class T, class Parameter, class Grad>
void norm_backward(std::int64_t rows, std::int64_t n, const T* x, const Parameter* weight, const double* mean, const double* rstd,
                   const T* dy, T* dx, Grad* dweight, Grad* dbias) {
  using C = compute_t<T>;
  const std::int64_t piece = norm_piece(rows), pieces = (rows + piece - 1) / piece;
  const bool parameters = dweight != nullptr || dbias != nullptr;
  const Workspace<C> parts(parameters ? pieces * 2 * n : 0);  // [pieces][dweight, dbias][n]
  parallel_for(pieces, (std::max<std::int64_t>)(1, (1 << 14) / (piece * n + 1)), [&](std::int64_t first_piece, std::int64_t last_piece) {
    dispatch([&](auto bytes) __attribute__((always_inline)) {
      using P = Pack<C, bytes() / int{sizeof(C)}>;
      for (std::int64_t p = first_piece; p < last_piece; ++p) {
        C *to_weight = parts.data() + p * 2 * n, *to_bias = to_weight + n;
        if (parameters) std::fill(to_weight, to_weight + 2 * n, C(0));
        for (std::int64_t r = p * piece; r < (std::min)(rows, (p + 1) * piece); ++r) {
          const T *rx = x + r * n, *rdy = dy + r * n;
          const Deviation<P> deviation(Centred ? mean[r] : 0);
          const P scale(rstd[r]);
          const auto weighted = [&](const P& d, std::int64_t i) __attribute__((always_inline)) {
            return weight == nullptr ? d : d * load_some<P>(weight + i, n - i);
          };
          Total<C, P::width> sum, dot;
          if (dx != nullptr)
            for (std::int64_t i = 0; i < n; i += P::width) {
              const P g = weighted(load_some<P>(rdy + i, n - i), i);
              if constexpr (Centred) sum.add(g);
              dot.add(g * (deviation(load_some<P>(rx + i, n - i)) * scale));
            }
          const P mean_g(sum.value() / static_cast<double>(n)), mean_dot(dot.value() / static_cast<double>(n));
          for (std::int64_t i = 0; i < n; i += P::width) {
            const P d = load_some<P>(rdy + i, n - i), value = deviation(load_some<P>(rx + i, n - i)) * scale;
            if (dx != nullptr) store_some(dx + r * n + i, scale * ((weighted(d, i) - mean_g) - value * mean_dot), n - i);
            if (!parameters) continue;
            store_some(to_weight + i, load_some<P>(to_weight + i, n - i) + d * value, n - i);
            store_some(to_bias + i, load_some<P>(to_bias + i, n - i) + d, n - i);
          }
        }
      }
    });
  });
  if (!parameters) return;
  dispatch([&](auto bytes) __attribute__((always_inline)) {
    using P = Pack<double, bytes() / int{sizeof(double)}>;
    const auto add_pieces = [&](const C* part, Grad* to) __attribute__((always_inline)) {
      for (std::int64_t i = 0; i < n; i += P::width) {
        P total;
        for (std::int64_t p = 0; p < pieces; ++p) total += load_some<P>(part + p * 2 * n + i, n - i);
        store_some(to + i, total, n - i);
      }
    };
    if (dweight != nullptr) add_pieces(parts.data(), dweight);
    if (dbias != nullptr) add_pieces(parts.data() + n, dbias);
  });
}

}  // namespace detail

// y = (x - mean) rstd weight + bias by rows of n; mean and rstd [rows] are for the backward pass. weight and bias [n] may be null.
template <Scalar T, Scalar Parameter>
void layer_norm(std::int64_t rows, std::int64_t n, const T* x, const Parameter* weight, const Parameter* bias, double eps, T* y,
                double* mean, double* rstd) {
  detail::norm<true>(rows, n, x, weight, bias, eps, y, mean, rstd);
}

// With v = (x - mean) rstd and g = dy weight: dx = rstd (g - mean(g) - v mean(g v)), dweight = sum over rows of dy v, dbias of dy.
// What is null is not computed.
template <Scalar T, Scalar Parameter, Scalar Grad>
void layer_norm_backward(std::int64_t rows, std::int64_t n, const T* x, const Parameter* weight, const double* mean, const double* rstd,
                         const T* dy, T* dx, Grad* dweight, Grad* dbias) {
  detail::norm_backward<true>(rows, n, x, weight, mean, rstd, dy, dx, dweight, dbias);
}

// y = x rstd weight with rstd = 1 / sqrt(mean(x^2) + eps).
template <Scalar T, Scalar Parameter>
void rms_norm(std::int64_t rows, std::int64_t n, const T* x, const Parameter* weight, double eps, T* y, double* rstd) {
  detail::norm<false>(rows, n, x, weight, static_cast<const Parameter*>(nullptr), eps, y, static_cast<double*>(nullptr), rstd);
}

// With v = x rstd and g = dy weight: dx = rstd (g - v mean(g v)), dweight = sum over rows of dy v.
template <Scalar T, Scalar Parameter, Scalar Grad>
void rms_norm_backward(std::int64_t rows, std::int64_t n, const T* x, const Parameter* weight, const double* rstd, const T* dy, T* dx,
                       Grad* dweight) {
  detail::norm_backward<false>(rows, n, x, weight, static_cast<const double*>(nullptr), rstd, dy, dx, dweight, static_cast<Grad*>(nullptr));
}

}  // namespace minitorch::kernels
