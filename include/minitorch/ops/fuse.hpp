// fuse: one function of numbers becomes an operation, its value in one pass, its gradient in another, its derivative derived.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include <minitorch/autograd/broadcast.hpp>
#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/kernels/dual.hpp>
#include <minitorch/ops/pointwise.hpp>

namespace minitorch {

namespace detail {

// out = f(x...), broadcast to `shape`; `out` may be a tuple of pointers.
template <class F, class Out, Scalar... X>
void map_all(const Shape& shape, const F& f, Out out, const Tensor<X>&... x) {
  if (((x.shape() == shape) && ...)) return kernels::map(shape.numel(), f, out, x.data()...);
  kernels::map_broadcast(shape, f, out, kernels::broadcast_operand(x.data(), x.shape())...);
}

// f as a function of its n-th variable among N, on dual numbers whose derivatives are those by all variables.
template <class F, class... V>
[[gnu::always_inline]] inline auto with_slopes(const F& f, const V&... x) {
  constexpr int N = sizeof...(V);
  return [&]<std::size_t... K>(std::index_sequence<K...>) __attribute__((always_inline)) {
    using D = kernels::Dual<std::common_type_t<V...>, N>;
    return kernels::call_inlined(f, D(x, static_cast<int>(K))...);
  }
  (std::index_sequence_for<V...>());
}

// The gradients dy df/dx_k.
struct FusedGradient {
  template <class F, Scalar T, class... X>
  static auto run(const F& f, const Tensor<T>& dy, const X&... x) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      const std::array<Tensor<T>, sizeof...(X)> out{(static_cast<void>(x), Tensor<T>::empty(dy.shape()))...};
      const auto body = [&f](const auto& g, const auto&... v) {
        const auto y = with_slopes(f, v...);
        return std::tuple(scaled(g, y.slope[K])...);
      };
      if constexpr (sizeof...(X) == 1)
        map_all(
            dy.shape(), [&body](const auto& g, const auto& v) { return std::get<0>(body(g, v)); }, out_data(out[0]), dy, x...);
      else
        map_all(dy.shape(), body, std::tuple(out_data(out[K])...), dy, x...);
      return std::tuple(out[K]...);
    }
    (std::index_sequence_for<X...>());
  }
  template <Scalar T>
  static T* out_data(const Tensor<T>& x) {
    return reinterpret_cast<T*>(x.body()->data);
  }
};

// dy df/dx_Which as an operation of its own, for second derivatives. Third ones are not there: the instantiation would never end.
template <std::size_t Which, class F, Scalar T, class... X>
Tensor<T> fused_slope(const F& f, const Tensor<T>& dy, const X&... x) {
  return record<T>(
      "fuse gradient", dy.shape(),
      [&](T* out) {
        map_all(
            dy.shape(), [&f](const auto& g, const auto&... v) { return scaled(g, with_slopes(f, v...).slope[Which]); }, out, dy, x...);
      },
      wrt_all(
          inputs(dy, x...),
          [](const Tensor<T>& g, const auto&, const F& function, const Tensor<T>& seed, const auto&... v) {
            if (grad_enabled())
              fail<GraphError>("fuse: third derivatives are not supported; write the function with operations on tensors");
            return [&]<std::size_t... K>(std::index_sequence<K...>) {
              const Tensor<T> by_seed = Tensor<T>::empty(g.shape());
              const std::array<Tensor<T>, sizeof...(v)> out{(static_cast<void>(K), Tensor<T>::empty(g.shape()))...};
              const auto body = [&function](const auto& outer, const auto& first, const auto&... a) {
                using P = std::remove_cvref_t<decltype(outer)>;
                using Inner = kernels::Dual<P, 1>;  // the derivative by variable Which
                const auto y = with_slopes(function, (K == Which ? Inner(a, 0) : Inner(a))...);
                return std::tuple(scaled(outer, P(y.value.slope[0])), scaled(scaled(outer, P(first)), P(y.slope[K].slope[0]))...);
              };
              map_all(g.shape(), body, std::tuple(FusedGradient::out_data(by_seed), FusedGradient::out_data(out[K])...), g, seed, v...);
              return std::tuple(by_seed, out[K]...);
            }
            (std::make_index_sequence<sizeof...(v)>());
          },
          f, dy, x...));
}

}  // namespace detail

// value     f(x...) element by element, broadcast, in one pass
// gradient  dy df/dx by dual numbers, in one pass; second derivatives too, third ones are a GraphError
// saves     the inputs
// f is a generic function of numbers, mt::fuse([](auto a, auto b) { return a * sigmoid(b); }, p, q): + - * /, comparisons with select,
// and the functions of kernels/math.hpp, found by argument-dependent lookup. It may hold numbers of its own, but no reference.
template <class F, Scalar T, std::same_as<Tensor<T>>... Rest>
Tensor<T> fuse(F f, const Tensor<T>& first, const Rest&... rest) {
  Shape shape = first.shape();
  ((shape = detail::common_shape(shape, rest.shape(), "fuse")), ...);
  return record<T>(
      "fuse", shape, [&](T* out) { detail::map_all(shape, f, out, first, rest...); },
      wrt_all(
          inputs(first, rest...),
          [](const Tensor<T>& dy, const auto&, const F& function, const auto&... x) {
            if (!grad_enabled()) return detail::FusedGradient::run(function, dy, x...);
            return [&]<std::size_t... K>(std::index_sequence<K...>) { return std::tuple(detail::fused_slope<K>(function, dy, x...)...); }
            (std::make_index_sequence<sizeof...(x)>());
          },
          f, first, rest...));
}

}  // namespace minitorch
