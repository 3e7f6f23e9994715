// cross_entropy: the negative logarithm of the probability that logits give to a class.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/cross_entropy.hpp>
#include <minitorch/ops/composite_grad.hpp>
#include <minitorch/ops/loss.hpp>
#include <minitorch/ops/softmax.hpp>

namespace minitorch {

struct CrossEntropyOptions {
  LossReduction reduction = LossReduction::mean;  // the mean divides by the weights of the targets that count
  double label_smoothing = 0;                     // the share of each target that is spread over all classes
  Tensor<double> weight = {};                     // one a class; undefined means 1
  std::int64_t ignore_index = -100;               // rows with this target do not count
};

struct CrossEntropy : Operation<CrossEntropy> {
  using Operation<CrossEntropy>::operator();
  template <Scalar T>
  Tensor<compute_t<T>> operator()(const Tensor<T>& logits, const Tensor<std::int64_t>& target,
                                  const CrossEntropyOptions& options = {}) const;
  template <Scalar T>
  Tensor<compute_t<T>> operator()(const Tensor<T>& logits, const Tensor<T>& probabilities, const CrossEntropyOptions& options = {}) const;
};
// value     w_t (lse - x_t) for logits x [..., classes] and targets t [...], lse = log(sum(e^x)); float for the narrow types
// gradient  dy w_t (softmax(x) - one_hot(t)), in one pass
// saves     logits, target, lse
// Targets may also be probabilities [..., classes]: -sum_c w_c p_c log_softmax(x)_c, and the mean divides by the number of rows.
// Throws ArgumentError for a target that is no class, ShapeError for shapes that do not fit.
inline constexpr CrossEntropy cross_entropy;

namespace detail {

inline kernels::CrossEntropy cross_entropy_setting(const CrossEntropyOptions& options, std::int64_t classes) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    fail<ArgumentError>("cross_entropy: label_smoothing must be in [0, 1], got ", options.label_smoothing);
  if (options.weight.defined() && !(options.weight.shape() == Shape{classes}))
    fail<ShapeError>("cross_entropy: there must be one weight a class, [", classes, "], got ", options.weight.shape());
  return {classes, options.ignore_index, options.label_smoothing, options.weight.defined() ? options.weight.data() : nullptr};
}

// What of each class a row asks for: q in loss = sum_c q_c (lse - x_c).
template <Scalar C>
Tensor<C> target_shares(const kernels::CrossEntropy& ce, const Tensor<std::int64_t>& target) {
  return compute<C>("target shares", {target.numel(), ce.classes}, [&](C* out) {
    for (std::int64_t t : target.values()) {
      for (std::int64_t c = 0; c < ce.classes; ++c, ++out) {
        const double share = (c == t ? 1 - ce.smoothing : 0) * ce.weight(c) + ce.smoothing / static_cast<double>(ce.classes) * ce.weight(c);
        *out = t == ce.ignore_index ? C(0) : static_cast<C>(share);
      }
    }
  });
}

// The definition, for when backward itself is differentiated.
template <Scalar T>
Tensor<compute_t<T>> composite_cross_entropy(const Tensor<T>& logits, const Tensor<std::int64_t>& target,
                                             const CrossEntropyOptions& options) {
  using C = compute_t<T>;
  const kernels::CrossEntropy ce = cross_entropy_setting(options, logits.shape().back());
  const Tensor<C> rows = log_softmax(logits.template to<C>().reshape({target.numel(), ce.classes}));
  const Tensor<C> loss = neg(sum(grad_mul(target_shares<C>(ce, target), rows), -1)).reshape(target.shape());
  if (options.reduction == LossReduction::none) return loss;
  if (options.reduction == LossReduction::sum) return sum(loss);
  return div(sum(loss), static_cast<C>(kernels::target_weight(ce, target.numel(), target.data())));
}

// What each row's loss is multiplied with.
template <Scalar C>
void loss_scales(const Tensor<C>& dy, LossReduction reduction, double total, std::int64_t rows, double* scale) {
  for (std::int64_t r = 0; r < rows; ++r)
    scale[r] = reduction == LossReduction::none ? static_cast<double>(dy.data()[r])
                                                : static_cast<double>(dy.data()[0]) / (reduction == LossReduction::mean ? total : 1);
}

}  // namespace detail

template <Scalar T>
Tensor<compute_t<T>> CrossEntropy::operator()(const Tensor<T>& logits, const Tensor<std::int64_t>& target,
                                              const CrossEntropyOptions& options) const {
  using C = compute_t<T>;
  const auto rank = static_cast<std::size_t>(target.rank());
  if (logits.rank() != target.rank() + 1 || !std::equal(target.shape().begin(), target.shape().end(), logits.shape().begin()))
    fail<ShapeError>("cross_entropy: logits [..., classes] and targets [...] must agree, got ", logits.shape(), " and ", target.shape());
  const kernels::CrossEntropy ce = detail::cross_entropy_setting(options, logits.shape()[static_cast<int>(rank)]);
  const std::int64_t rows = target.numel();
  const double total = kernels::target_weight(ce, rows, target.data());
  Tensor<double> lse = Tensor<double>::empty({rows});
  const auto forward = [&](C* out) {
    const Workspace<double> loss(rows);
    kernels::cross_entropy(ce, rows, logits.data(), target.data(), loss.data(), reinterpret_cast<double*>(lse.body()->data));
    if (options.reduction == LossReduction::none) return kernels::convert(rows, out, static_cast<const double*>(loss.data()));
    kernels::reduce<kernels::Sum>(1, rows, 1, static_cast<const double*>(loss.data()), out,
                                  options.reduction == LossReduction::mean ? total : 1);
  };
  return record<C>("cross_entropy", options.reduction == LossReduction::none ? target.shape() : Shape{}, filling(forward, lse),
                   wrt(
                       logits,
                       [](const Tensor<C>& dy, const Tensor<T>& x, const Tensor<std::int64_t>& t, const Tensor<double>& row_lse,
                          const CrossEntropyOptions& how, double sum_of_weights) {
                         if (grad_enabled()) {
                           const auto f = [&](const Tensor<T>& in) { return detail::composite_cross_entropy(in, t, how); };
                           return std::get<0>(detail::composite_grad(f, dy, x));
                         }
                         return compute<T>("cross_entropy gradient", x.shape(), [&](T* out) {
                           const Workspace<double> scale(t.numel());
                           detail::loss_scales(dy, how.reduction, sum_of_weights, t.numel(), scale.data());
                           kernels::cross_entropy_backward(detail::cross_entropy_setting(how, x.shape().back()), t.numel(), x.data(),
                                                           t.data(), row_lse.data(), scale.data(), out);
                         });
                       },
                       logits, target, lse, options, total));
}

template <Scalar T>
Tensor<compute_t<T>> CrossEntropy::operator()(const Tensor<T>& logits, const Tensor<T>& probabilities,
                                              const CrossEntropyOptions& options) const {
  using C = compute_t<T>;
  if (logits.rank() == 0) fail<ShapeError>("cross_entropy: a scalar has no classes");
  detail::check_same_shape(logits.shape(), probabilities.shape(), "cross_entropy");
  const kernels::CrossEntropy ce = detail::cross_entropy_setting(options, logits.shape().back());
  Tensor<C> share = probabilities.template to<C>();
  if (ce.smoothing != 0)
    share = add(mul(share, static_cast<C>(1 - ce.smoothing)), static_cast<C>(ce.smoothing / static_cast<double>(ce.classes)));
  if (options.weight.defined()) share = mul(share, options.weight.to<C>());
  const Tensor<C> loss = neg(sum(grad_mul(share, log_softmax(logits.template to<C>())), -1));
  return detail::reduced(loss, options.reduction);
}

}  // namespace minitorch
