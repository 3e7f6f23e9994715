// Elementwise kernels: a generic function of Packs applied to arrays, contiguous or broadcast.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include <minitorch/core/parallel_for.hpp>
#include <minitorch/core/shape.hpp>
#include <minitorch/kernels/dispatch.hpp>
#include <minitorch/kernels/load_store.hpp>

namespace minitorch::kernels {

namespace detail {

// The type in which a map computes: the widest that any of its arrays asks for. Arrays of bool follow the others.
template <class... T>
constexpr auto common_compute_of() {
  if constexpr ((std::same_as<T, double> || ...))
    return double{};
  else if constexpr ((std::same_as<T, std::int64_t> || ...) && !(std::same_as<compute_t<T>, float> || ...))
    return std::int64_t{};
  else
    return float{};
}
template <class... T>
using common_compute = decltype(common_compute_of<T...>());

// The most lanes that a Pack of computed numbers has.
inline constexpr int max_lanes = 16;

// Elements that one thread takes at least; below two of these a map runs in the calling thread.
inline constexpr std::int64_t map_grain = 1 << 15;

template <class... O>
constexpr std::tuple<O*...> as_outputs(const std::tuple<O*...>& out) {
  return out;
}
template <class O>
constexpr std::tuple<O*> as_outputs(O* out) {
  return {out};
}

template <class P, class... O>
[[gnu::always_inline]] inline void store_results(const std::tuple<O*...>& out, std::int64_t i, const P& result) {
  if constexpr (!requires { std::get<0>(result); })
    store(std::get<0>(out) + i, result);
  else
    [&]<std::size_t... K>(std::index_sequence<K...>) __attribute__((always_inline)) {
      (store(std::get<K>(out) + i, std::get<K>(result)), ...);
    }
  (std::index_sequence_for<O...>());
}

template <class T, int W>
struct alignas(64) Lanes {
  T at[static_cast<std::size_t>(W)];
};

template <class T>
[[gnu::always_inline]] inline void copy_lanes(T* to, const T* from, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) to[j] = from[j];
}

// The lanes of a partial pack. One element fills them all: a store as wide as the load that follows, which then need not wait.
template <class T, int W>
[[gnu::always_inline]] inline void fill_lanes(Lanes<T, W>& lanes, const T* from, std::int64_t count) {
  const T first = *from;
  for (T& lane : lanes.at) lane = first;
  if (count > 1) copy_lanes(lanes.at + 1, from + 1, count - 1);
}

// out[i] = f(in[i * step]...) for i < n, where a step is 1 or 0; an input of step 0 points at W equal elements.
// The last partial pack goes through small buffers and the same code, so an element's bits do not depend on its position.
template <int Bytes, class F, class... O, class... In>
[[gnu::always_inline]] inline void map_lanes(std::int64_t n, F& f, std::tuple<O*...> out,
                                             const std::array<std::int64_t, sizeof...(In)>& steps, const In*... in) {
  using C = common_compute<O..., In...>;
  constexpr int W = Bytes / int{sizeof(C)};
  const std::int64_t full = n / W * W, rest = n - full;
  std::tuple<const In*...> from(in...);
  std::tuple<Lanes<In, W>...> last_in;
  std::tuple<Lanes<O, W>...> last_out;
  const auto results = out;
  [&]<std::size_t... K, std::size_t... R>(std::index_sequence<K...>, std::index_sequence<R...>) __attribute__((always_inline)) {
    for (std::int64_t end = full;;) {
      for (std::int64_t i = 0; i < end; i += W)
        store_results(out, i, call_inlined(f, load<Pack<C, W>>(std::get<K>(from) + i * steps[K])...));
      if (rest == 0 || end != full || std::get<0>(out) != std::get<0>(results)) break;
      (fill_lanes(std::get<K>(last_in), std::get<K>(from) + full * steps[K], rest), ...);
      from = std::tuple<const In*...>(std::get<K>(last_in).at...);
      out = std::tuple<O*...>(std::get<R>(last_out).at...);
      end = W;
    }
    if (rest != 0) (copy_lanes<O>(std::get<R>(results) + full, std::get<R>(last_out).at, rest), ...);
  }
  (std::index_sequence_for<In...>(), std::index_sequence_for<O...>());
}

template <class... O>
[[gnu::always_inline]] inline std::tuple<O*...> advance_all(const std::tuple<O*...>& out, std::int64_t by) {
  return std::apply([by](auto*... p) { return std::tuple<O*...>((p + by)...); }, out);
}

template <class... In>
constexpr std::array<std::int64_t, sizeof...(In)> unit_steps() {
  std::array<std::int64_t, sizeof...(In)> steps{};
  for (std::int64_t& s : steps) s = 1;
  return steps;
}

template <class F, class... O, class... In>
void map_piece(std::int64_t n, F& f, const std::tuple<O*...>& out, const In*... in) {
  dispatch([&](auto bytes) __attribute__((always_inline)) { map_lanes<bytes()>(n, f, out, unit_steps<In...>(), in...); });
}

}  // namespace detail

// out[i] = f(in[i]...) for n elements of contiguous arrays. f is a generic function of Packs of the computed type (float for
// narrow arrays, double as soon as one array is double; Masks for arrays of bool) and returns a Pack or Mask, or a std::tuple of
// them when `out` is a std::tuple of pointers. An output may be one of the inputs.
template <class F, class Out, class... In>
void map(std::int64_t n, F&& f, Out out, const In*... in) {
  const auto results = detail::as_outputs(out);
  if (n < 2 * detail::map_grain) {
    if (n > 0) detail::map_piece(n, f, results, in...);
    return;
  }
  parallel_for(n, detail::map_grain, [&](std::int64_t first, std::int64_t last) {
    detail::map_piece(last - first, f, detail::advance_all(results, first), (in + first)...);
  });
}

}  // namespace minitorch::kernels
