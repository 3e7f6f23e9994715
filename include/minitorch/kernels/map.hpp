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

// The i-th pack of each output from what f returned: a Pack or Mask, or a tuple of them.
template <class... O, std::size_t... R, class P>
[[gnu::always_inline]] inline void store_results(void* const* out, std::int64_t i, std::index_sequence<R...>, const P& result) {
  if constexpr (requires { std::get<0>(result); })
    (store(static_cast<O*>(out[R]) + i, std::get<R>(result)), ...);
  else
    (store(static_cast<O*>(out[R]) + i, result), ...);
}

// The lanes of a partial pack. One element fills them all: a store as wide as the load that follows, which then need not wait.
template <int W, class T>
[[gnu::always_inline]] inline const T* copy_last(void* room, const T* from, std::int64_t count) {
  T* lanes = static_cast<T*>(room);
  const T first = *from;
  for (int j = 0; j < W; ++j) lanes[j] = first;
  for (std::int64_t j = 1; j < count; ++j) lanes[j] = from[j];
  return lanes;
}
template <class T>
[[gnu::always_inline]] inline void copy_back(T* to, const void* room, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) to[j] = static_cast<const T*>(room)[j];
}

// Room for a pack of stored elements.
template <std::size_t Bytes>
struct alignas(64) Room {
  std::byte bytes[Bytes];
};

// out[i] = f(in[i * step]...) for i < n, where a step is 1 or 0; an input of step 0 points at W equal elements.
// The last partial pack goes through small buffers and the same code, so an element's bits do not depend on its position.
template <int Bytes, class F, class... O, class... In, std::size_t... R, std::size_t... K>
[[gnu::always_inline]] inline void map_lanes(std::int64_t n, F& f, const std::tuple<O*...>& out, const std::int64_t* steps,
                                             std::index_sequence<R...>, std::index_sequence<K...>, const In*... in) {
  using C = common_compute<O..., In...>;
  constexpr int W = Bytes / int{sizeof(C)};
  const std::int64_t full = n / W * W, rest = n - full;
  using Last = Room<std::size_t{W} * (std::max)({sizeof(In)..., sizeof(O)...})>;  // an int64 is twice as wide as the float it becomes
  Last last_in[sizeof...(In)], last_out[sizeof...(O)];
  const void* from[] = {in...};
  void* to[] = {std::get<R>(out)...};
  for (std::int64_t end = full;; end = W) {
    for (std::int64_t i = 0; i < end; i += W)
      store_results<O...>(to, i, std::index_sequence<R...>(),
                          call_inlined(f, load<Pack<C, W>>(static_cast<const In*>(from[K]) + i * steps[K])...));
    if (rest == 0 || to[0] == last_out) break;
    ((from[K] = copy_last<W>(last_in[K].bytes, in + full * steps[K], rest)), ...);
    ((to[R] = last_out[R].bytes), ...);
  }
  if (rest != 0) (copy_back(std::get<R>(out) + full, last_out[R].bytes, rest), ...);
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
  constexpr auto steps = unit_steps<In...>();
  dispatch([&](auto bytes) __attribute__((always_inline)) {
    map_lanes<bytes()>(n, f, out, steps.data(), std::index_sequence_for<O...>(), std::index_sequence_for<In...>(), in...);
  });
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
