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

// mean and 1 / sqrt(mean of (x - mean)^2 + eps); the mean is 0 when the norm is not centred.
template <bool Centred, int Bytes, class T>
[[gnu::always_inline]] inline RowStatistics row_statistics(std::int64_t n, const T* x, double eps) {
  using C = compute_t<T>;
  constexpr int W = Bytes / int{sizeof(double)};
  using P = Pack<double, W>;
  const double count = static_cast<double>(n);
  double mean = 0;
  if constexpr (Centred) {
    Total<double, W> sum;
    for (std::int64_t i = 0; i < n; i += W) sum.add(load_some<P>(x + i, n - i));
    mean = sum.value() / count;
  }
  const auto mean_square = [&](double factor) __attribute__((always_inline)) {
    Total<double, W> sum;
    for (std::int64_t i = 0; i < n; i += W) {
      const P deviation = (load_some<P>(x + i, n - i) - P(mean)) * P(factor);
      sum.add(n - i >= W ? deviation * deviation : select(first_lanes<P>(n - i), deviation * deviation, P(0)));
    }
    return sum.value() / count;
  };
  const double variance = mean_square(1);
  if constexpr (std::same_as<C, double>)
    if (std::isinf(variance)) {  // beyond the range of double: smaller units
      constexpr double factor = 0x1p-540;
      return {mean, factor / std::sqrt(mean_square(factor) + eps * factor * factor)};
    }
  return {mean, 1 / std::sqrt(variance + eps)};
}

// The normalised values: x less the mean, whose float part and rest are taken off one after the other, times rstd.
template <class P>
class Normaliser {
 public:
  using C = typename P::Scalar;
  [[gnu::always_inline]] Normaliser(double mean, double rstd)
      : high_(mean), low_(mean - static_cast<double>(static_cast<C>(mean))), rstd_(rstd) {}
  [[gnu::always_inline]] P operator()(const P& x) const { return ((x - high_) - low_) * rstd_; }
  [[gnu::always_inline]] const P& rstd() const { return rstd_; }

 private:
  P high_, low_, rstd_;
};

template <bool Centred, class T, class Parameter>
void norm(std::int64_t rows, std::int64_t n, const T* x, const Parameter* weight, const Parameter* bias, double eps, T* y, double* mean,
          double* rstd) {
  using C = compute_t<T>;
  parallel_rows(
      rows, n, [=](auto bytes, std::int64_t first, std::int64_t last) __attribute__((always_inline)) {
        constexpr int W = bytes() / int{sizeof(C)};
        using P = Pack<C, W>;
        for (std::int64_t r = first; r < last; ++r) {
          const RowStatistics row = row_statistics<Centred, bytes()>(n, x + r * n, eps);
          if (mean != nullptr) mean[r] = row.mean;
          rstd[r] = row.rstd;
          const Normaliser<P> normalise(row.mean, row.rstd);
          for (std::int64_t i = 0; i < n; i += W) {
            P value = normalise(load_some<P>(x + r * n + i, n - i));
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
  const Workspace<double> parts(parameters ? pieces * 2 * n : 0);  // [pieces][dweight, dbias][n]
  parallel_for(pieces, (std::max<std::int64_t>)(1, (1 << 14) / (piece * n + 1)), [&](std::int64_t first_piece, std::int64_t last_piece) {
    dispatch([&](auto bytes) __attribute__((always_inline)) {
      constexpr int W = bytes() / int{sizeof(C)};
      using P = Pack<C, W>;
      using D = Pack<double, bytes() / int{sizeof(double)}>;
      for (std::int64_t p = first_piece; p < last_piece; ++p) {
        double *to_weight = parts.data() + p * 2 * n, *to_bias = to_weight + n;
        if (parameters) std::fill(to_weight, to_weight + 2 * n, 0.0);
        for (std::int64_t r = p * piece; r < (std::min)(rows, (p + 1) * piece); ++r) {
          const T *rx = x + r * n, *rdy = dy + r * n;
          const double row_mean = Centred ? mean[r] : 0;
          const Normaliser<P> normalise(row_mean, rstd[r]);
          const auto weighted = [&](std::int64_t i) __attribute__((always_inline)) {
            const P d = load_some<P>(rdy + i, n - i);
            return weight == nullptr ? d : d * load_some<P>(weight + i, n - i);
          };
          if (dx != nullptr) {
            Total<C, W> sum, dot;
            for (std::int64_t i = 0; i < n; i += W) {
              const P g = weighted(i);
              if constexpr (Centred) sum.add(g);
              dot.add(g * normalise(load_some<P>(rx + i, n - i)));
            }
            const P mean_g(sum.value() / static_cast<double>(n)), mean_dot(dot.value() / static_cast<double>(n));
            for (std::int64_t i = 0; i < n; i += W) {
              const P value = normalise(load_some<P>(rx + i, n - i));
              store_some(dx + r * n + i, normalise.rstd() * ((weighted(i) - mean_g) - value * mean_dot), n - i);
            }
          }
          if (!parameters) continue;
          const Normaliser<D> exactly(row_mean, rstd[r]);
          for (std::int64_t i = 0; i < n; i += D::width) {
            const D d = load_some<D>(rdy + i, n - i);
            store_some(to_weight + i, load_some<D>(to_weight + i, n - i) + d * exactly(load_some<D>(rx + i, n - i)), n - i);
            store_some(to_bias + i, load_some<D>(to_bias + i, n - i) + d, n - i);
          }
        }
      }
    });
  });
  if (!parameters) return;
  for (std::int64_t left = pieces; left > 1; left = (left + 1) / 2)  // pairs of neighbours, so that the order depends on the size alone
    for (std::int64_t p = 0; p < left / 2 + left % 2; ++p)
      for (std::int64_t j = 0; j < 2 * n; ++j)
        parts[p * 2 * n + j] = parts[2 * p * 2 * n + j] + (2 * p + 1 < left ? parts[(2 * p + 1) * 2 * n + j] : 0.0);
  const double* total = parts.data();
  for (std::int64_t j = 0; j < n; ++j) {
    if (dweight != nullptr) store(dweight + j, Pack<double, 1>(rows == 0 ? 0.0 : total[j]));
    if (dbias != nullptr) store(dbias + j, Pack<double, 1>(rows == 0 ? 0.0 : total[n + j]));
  }
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
