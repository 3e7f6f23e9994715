// A handful of operations as a user would write them, so that the layer is tested without the layers above it.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/autograd.hpp>

#include <cmath>
#include <vector>

namespace mt = minitorch;

namespace operations {

template <mt::Scalar T, class F>
void each(const mt::Tensor<T>& x, T* out, F f) {
  for (T value : x.values()) *out++ = static_cast<T>(f(static_cast<mt::compute_t<T>>(value)));
}

template <mt::Scalar T>
mt::Tensor<T> mul(const mt::Tensor<T>& a, const mt::Tensor<T>& b) {
  const mt::Shape shape = mt::broadcast_shapes(a.shape(), b.shape(), "mul");
  constexpr auto rule = [](const mt::Tensor<T>& dy, const mt::Tensor<T>& other) { return mul(dy, other); };
  return mt::record<T>(
      "mul", shape,
      [&](T* out) {
        mt::detail::map_pair(
            shape, [](const auto& x, const auto& y) { return x * y; }, out, a, b);
      },
      mt::wrt(a, rule, b), mt::wrt(b, rule, a));
}

template <mt::Scalar T>
mt::Tensor<T> scale(const mt::Tensor<T>& x, double factor) {
  return mt::record<T>(
      "scale", x.shape(), [&](T* out) { each(x, out, [&](auto v) { return v * static_cast<decltype(v)>(factor); }); },
      mt::wrt(
          x, [](const mt::Tensor<T>& dy, double f) { return scale(dy, f); }, factor));
}

template <mt::Scalar T>
mt::Tensor<T> exp(const mt::Tensor<T>& x) {
  return mt::record<T>(
      "exp", x.shape(), [&](T* out) { each(x, out, [](auto v) { return std::exp(v); }); },
      mt::wrt(
          x, [](const mt::Tensor<T>& dy, const mt::Tensor<T>& y) { return mul(dy, y); }, mt::result));
}

template <mt::Scalar T>
mt::Tensor<T> cos(const mt::Tensor<T>& x);

template <mt::Scalar T>
mt::Tensor<T> sin(const mt::Tensor<T>& x) {
  return mt::record<T>(
      "sin", x.shape(), [&](T* out) { each(x, out, [](auto v) { return std::sin(v); }); },
      mt::wrt(
          x, [](const mt::Tensor<T>& dy, const mt::Tensor<T>& at) { return mul(dy, cos(at)); }, x));
}

template <mt::Scalar T>
mt::Tensor<T> cos(const mt::Tensor<T>& x) {
  return mt::record<T>(
      "cos", x.shape(), [&](T* out) { each(x, out, [](auto v) { return std::cos(v); }); },
      mt::wrt(
          x, [](const mt::Tensor<T>& dy, const mt::Tensor<T>& at) { return scale(mul(dy, sin(at)), -1); }, x));
}

template <mt::Scalar T>
mt::Tensor<T> tanh(const mt::Tensor<T>& x) {
  return mt::record<T>(
      "tanh", x.shape(), [&](T* out) { each(x, out, [](auto v) { return std::tanh(v); }); },
      mt::wrt(
          x, [](const mt::Tensor<T>& dy, const mt::Tensor<T>& y) { return mul(dy, mt::add(scale(mul(y, y), -1), mt::ones_like(y))); },
          mt::result));
}

// Zeroes every element with probability 1/2 and doubles the others; takes one random stream.
template <mt::Scalar T>
mt::Tensor<T> dropout(const mt::Tensor<T>& x) {
  const std::uint64_t stream = mt::thread_state.next_stream++ + mt::thread_state.seed * 1000;
  const auto keep = mt::compute<T>("mask", x.shape(), [&](T* out) {
    for (std::int64_t i = 0; i < x.numel(); ++i)
      out[i] = T(((stream * 2654435761u + static_cast<std::uint64_t>(i) * 40503u) >> 7) % 2 == 0 ? 2 : 0);
  });
  return mul(x, keep);
}

template <mt::Scalar T>
mt::Tensor<T> sum(const mt::Tensor<T>& x) {
  return mt::sum_to(x, {});
}

// A leaf that wants its gradient.
template <mt::Scalar T>
mt::Tensor<T> leaf(mt::Tensor<T> x) {
  return x.set_requires_grad();
}

template <mt::Element T>
std::vector<double> numbers(const mt::Tensor<T>& x) {
  std::vector<double> out;
  for (T value : x.values()) out.push_back(static_cast<double>(value));
  return out;
}

using Numbers = std::vector<double>;

// At its end a test case has given back all the tensor data that it took.
class NothingLeft {
 public:
  NothingLeft() : before_(mt::live_bytes()) {}
  std::int64_t bytes() const { return mt::live_bytes() - before_; }

 private:
  std::int64_t before_;
};

}  // namespace operations
