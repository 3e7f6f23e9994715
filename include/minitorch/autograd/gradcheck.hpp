// Gradients against central differences: the test of every rule.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <minitorch/autograd/backward.hpp>
#include <minitorch/autograd/factories.hpp>
#include <minitorch/autograd/grad_mode.hpp>

namespace minitorch {

struct GradcheckOptions {
  double step = 1e-6;
  double absolute = 1e-5;
  double relative = 1e-3;
};

namespace detail {

// A seed that is the same on no two elements, so that an error in one place cannot hide behind another.
inline Tensor<double> probe_seed(const Shape& shape) {
  Tensor<double> seed = Tensor<double>::empty(shape);
  double next = 1;
  for (double& value : seed.mutable_values()) value = std::sin(std::exchange(next, next + 3)) + 1.25;
  return seed;
}

inline double dot(const Tensor<double>& a, const Tensor<double>& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) sum += a.data()[i] * b.data()[i];
  return sum;
}

inline void check_some_wanted(const std::vector<Tensor<double>>& inputs, const char* operation) {
  if (std::none_of(inputs.begin(), inputs.end(), [](const Tensor<double>& input) { return input.requires_grad(); }))
    fail<ArgumentError>(operation, ": at least one input must require a gradient, or nothing is checked; none of ", inputs.size(), " does");
}

}  // namespace detail

// Compares the gradient of <seed, f(inputs)> with central differences in each element of each input that requires a gradient.
// Throws GraphError with the place and both values at the first that differs, ArgumentError when no input requires a gradient.
template <class F>
void gradcheck(F f, const std::vector<Tensor<double>>& inputs, GradcheckOptions options = {}) {
  detail::check_some_wanted(inputs, "gradcheck");
  std::vector<Tensor<double>> wanted;
  for (const Tensor<double>& input : inputs)
    if (input.requires_grad()) wanted.push_back(input);
  const EnableGrad recording;
  const Tensor<double> output = f(inputs);
  const Tensor<double> seed = detail::probe_seed(output.shape());
  std::vector<Tensor<double>> gradients(wanted.size());
  if (output.requires_grad())
    gradients = grad<double>(std::span(&output, 1), std::span<const Tensor<double>>(wanted), std::span(&seed, 1), {.allow_unused = true});

  for (std::size_t which = 0, next = 0; which < inputs.size(); ++which) {
    if (!inputs[which].requires_grad()) continue;
    const Tensor<double> gradient = gradients[next++];
    for (std::int64_t i = 0; i < inputs[which].numel(); ++i) {
      const auto value_at = [&](double shift) {
        std::vector<Tensor<double>> moved = inputs;
        moved[which] = inputs[which].detach().clone();
        moved[which].mutable_data()[i] += shift;
        moved[which].set_requires_grad();
        return f(moved).detach();
      };
      const Tensor<double> above = value_at(options.step), below = value_at(-options.step);
      double numeric = 0;  // differences first: they are small where the sums are not
      for (std::int64_t j = 0; j < above.numel(); ++j) numeric += seed.data()[j] * (above.data()[j] - below.data()[j]);
      numeric /= 2 * options.step;
      const double analytic = gradient.defined() ? gradient.data()[i] : 0.0;
      if (!(std::abs(analytic - numeric) <= options.absolute + options.relative * std::abs(numeric)))
        fail<GraphError>("gradcheck: element ", i, " of input ", which, " has gradient ", analytic, ", differences give ", numeric);
    }
  }
}

// The same for the gradient itself: second derivatives.
template <class F>
void gradgradcheck(F f, const std::vector<Tensor<double>>& inputs, GradcheckOptions options = {}) {
  detail::check_some_wanted(inputs, "gradgradcheck");
  for (std::size_t which = 0; which < inputs.size(); ++which) {
    if (!inputs[which].requires_grad()) continue;
    gradcheck(
        [&](const std::vector<Tensor<double>>& moved) {
          const Tensor<double> output = f(moved);
          if (!output.requires_grad()) return zeros_like(moved[which]);
          const Tensor<double> seed = detail::probe_seed(output.shape());
          const Tensor<double> gradient = grad<double>(std::span(&output, 1), std::span(&moved[which], 1), std::span(&seed, 1),
                                                       {.create_graph = true, .allow_unused = true})
                                              .front();
          return gradient.defined() ? gradient : zeros_like(moved[which]);
        },
        inputs, options);
  }
}

}  // namespace minitorch
