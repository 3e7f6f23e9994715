// How parameters start. A value belongs to an element of the whole parameter, so a slice starts with its part of the whole.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/kernels/random.hpp>

namespace minitorch::nn {

using kernels::Window;

// A distribution to start from. Every parameter takes one stream of the thread's random numbers, also a constant one.
struct Init {
  enum class Kind { constant, uniform, normal, truncated_normal };
  Kind kind = Kind::constant;
  double a = 0;  // the constant, the lower bound, or the mean
  double b = 0;  // the upper bound, or the standard deviation
  double low = 0, high = 0;

  static Init constant(double value) { return {Kind::constant, value}; }
  static Init uniform(double low, double high) { return {Kind::uniform, low, high}; }
  static Init normal(double mean, double deviation) { return {Kind::normal, mean, deviation}; }
  // Normal, given that the value is in [low, high].
  static Init truncated_normal(double mean, double deviation, double low, double high) {
    return {Kind::truncated_normal, mean, deviation, low, high};
  }
  // What PyTorch starts linear layers with: uniform within 1 / sqrt(fan_in).
  static Init fan_in(std::int64_t fan_in) {
    const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
    return uniform(-bound, bound);
  }
};

namespace detail {

// The x at which the standard normal distribution function is p, from above: bisection to the last bit.
inline double normal_quantile(double p) {
  double low = -40, high = 40;
  for (double middle; middle = low + (high - low) / 2, middle != low && middle != high;)
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
  return high;
}

template <Scalar T>
void fill_truncated(const Window& window, kernels::RandomKey key, const Init& init, T* out) {
  const auto distribution = [&](double x) { return std::erfc(-(x - init.a) / init.b / std::sqrt(2.0)) / 2; };
  Tensor<double> u = Tensor<double>::empty(window.local);
  kernels::fill_uniform<double>(window, key, distribution(init.low), distribution(init.high), u.mutable_data());
  for (std::int64_t i = 0; i < u.numel(); ++i)
    out[i] = static_cast<T>((std::clamp)(init.a + init.b * normal_quantile(u.data()[i]), init.low, init.high));
}

}  // namespace detail

// A new parameter: the slice `window` of a whole one. Takes one stream.
template <Scalar T>
Tensor<T> parameter(const Window& window, const Init& init) {
  Tensor<T> out = Tensor<T>::empty(window.local);
  const kernels::RandomKey key{thread_state.seed, thread_state.next_stream++};
  T* data = out.mutable_data();
  switch (init.kind) {
    case Init::Kind::constant: std::fill_n(data, out.numel(), static_cast<T>(init.a)); break;
    case Init::Kind::uniform: kernels::fill_uniform<T>(window, key, init.a, init.b, data); break;
    case Init::Kind::normal: kernels::fill_normal<T>(window, key, init.a, init.b, data); break;
    case Init::Kind::truncated_normal: detail::fill_truncated<T>(window, key, init, data); break;
  }
  return out.set_requires_grad();
}
template <Scalar T>
Tensor<T> parameter(const Shape& shape, const Init& init) {
  return parameter<T>(Window::whole(shape), init);
}

}  // namespace minitorch::nn
