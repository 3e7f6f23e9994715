// Elementwise kernels: a generic function of Packs applied to arrays, contiguous or broadcast.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
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

// One call of a map kernel: n elements of its arrays. An input of step 0 points at max_lanes equal elements.
struct MapRun {
  std::int64_t n;
  const void* function;
  void* const* out;
  const void* const* in;
  const std::int64_t* steps;  // of the inputs, 1 or 0
};

// A map without its types: the call for the whole, and what it takes to make calls for its parts.
struct MapJob {
  MapRun whole;
  AnyKernel<const MapRun> kernel;
  std::size_t outs, ins;
  const std::uint8_t* sizes;  // of an element of each output, then of each input
};

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

template <class... T>
struct Types {};

template <class F, class Out, class In>
struct MapKernel;
template <class F, class... O, class... In>
struct MapKernel<F, Types<O...>, Types<In...>> {
  template <int Bytes>
  [[gnu::always_inline]] static void run(vector_bytes<Bytes>, const MapRun& run) {
    const F& f = *static_cast<const F*>(run.function);  // of a copy, g++ fills the vectors of its numbers lane by lane
    lanes<Bytes>(run, f, std::index_sequence_for<O...>(), std::index_sequence_for<In...>());
  }

  // The last partial pack goes through small buffers and the same code, so an element's bits do not depend on its position.
  template <int Bytes, std::size_t... R, std::size_t... K>
  [[gnu::always_inline]] static void lanes(const MapRun& run, const F& f, std::index_sequence<R...>, std::index_sequence<K...>) {
    using C = common_compute<O..., In...>;
    constexpr int W = Bytes / int{sizeof(C)};
    const std::int64_t full = run.n / W * W, rest = run.n - full;
    using Last = Room<std::size_t{W} * (std::max)({sizeof(In)..., sizeof(O)...})>;  // an int64 is twice as wide as the float it becomes
    Last last_in[sizeof...(In)], last_out[sizeof...(O)];
    const void* from[] = {run.in[K]...};
    void* to[] = {run.out[R]...};
    const std::int64_t steps[] = {run.steps[K]...};
    for (std::int64_t end = full;; end = W) {
      for (std::int64_t i = 0; i < end; i += W)
        store_results<O...>(to, i, std::index_sequence<R...>(),
                            call_inlined(f, load<Pack<C, W>>(static_cast<const In*>(from[K]) + i * steps[K])...));
      if (rest == 0 || to[0] == last_out) break;
      ((from[K] = copy_last<W>(last_in[K].bytes, static_cast<const In*>(from[K]) + full * steps[K], rest)), ...);
      ((to[R] = last_out[R].bytes), ...);
    }
    if (rest != 0) (copy_back(static_cast<O*>(run.out[R]) + full, last_out[R].bytes, rest), ...);
  }
};

// The most arrays on one side of a map.
inline constexpr std::size_t max_arrays = 16;

inline constexpr auto unit_steps = [] {
  std::array<std::int64_t, max_arrays> steps{};
  for (std::int64_t& s : steps) s = 1;
  return steps;
}();

// The outputs from element `first` on.
inline void advance_outputs(const MapJob& job, std::int64_t first, void** out) {
  for (std::size_t r = 0; r < job.outs; ++r) out[r] = static_cast<std::byte*>(job.whole.out[r]) + first * job.sizes[r];
}

inline void run_map(const MapJob& job) {
  const std::int64_t n = job.whole.n;
  if (n < 2 * map_grain) {
    if (n > 0) run_kernel(job.kernel, job.whole);
    return;
  }
  parallel_for(n, map_grain, [&](std::int64_t first, std::int64_t last) {
    void* out[max_arrays];
    const void* in[max_arrays];
    advance_outputs(job, first, out);
    for (std::size_t k = 0; k < job.ins; ++k) in[k] = static_cast<const std::byte*>(job.whole.in[k]) + first * job.sizes[job.outs + k];
    const MapRun part{last - first, job.whole.function, out, in, job.whole.steps};
    run_kernel(job.kernel, part);
  });
}

// Calls run(job) with a map as a MapJob.
template <class Run, class F, class... O, class... In>
void with_map_job(std::int64_t n, const Run& run, const F& f, const std::tuple<O*...>& out, const In*... in) {
  static_assert(sizeof...(O) <= max_arrays && sizeof...(In) <= max_arrays);
  static constexpr std::uint8_t sizes[] = {sizeof(O)..., sizeof(In)...};
  const void* const from[] = {in...};
  std::apply(
      [&](O*... to) {
        void* const results[] = {to...};
        run(MapJob{{n, &f, results, from, unit_steps.data()},
                   paths_of<MapKernel<F, Types<O...>, Types<In...>>, const MapRun>,
                   sizeof...(O),
                   sizeof...(In),
                   sizes});
      },
      out);
}
template <class Run, class F, class O, class... In>
void with_map_job(std::int64_t n, const Run& run, const F& f, O* out, const In*... in) {
  with_map_job(n, run, f, std::tuple<O*>(out), in...);
}

}  // namespace detail

// out[i] = f(in[i]...) for n elements of contiguous arrays. f is a generic function of Packs of the computed type (float for
// narrow arrays, double as soon as one array is double; Masks for arrays of bool) and returns a Pack or Mask, or a std::tuple of
// them when `out` is a std::tuple of pointers. An output may be one of the inputs.
template <class F, class Out, class... In>
void map(std::int64_t n, const F& f, Out out, const In*... in) {
  detail::with_map_job(n, detail::run_map, f, out, in...);
}

}  // namespace minitorch::kernels
