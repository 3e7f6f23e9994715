// Elementwise kernels over operands that are repeated along some dimensions (stride 0) or walked in another order.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/map.hpp>

namespace minitorch::kernels {

// An array seen in the shape of a result: how many elements apart neighbours are along each dimension, 0 where it is repeated.
template <class T>
struct Operand {
  const T* data;
  std::array<std::int64_t, max_rank> strides{};
};

// A contiguous array of shape `own`, seen in the shape that it broadcasts to.
template <class T>
Operand<T> broadcast_operand(const T* data, const Shape& own, const Shape& to) {
  Operand<T> operand{data, {}};
  std::int64_t stride = 1;
  for (int d = own.rank() - 1; d >= 0; --d) {
    operand.strides[static_cast<std::size_t>(d + to.rank() - own.rank())] = own[d] == 1 ? 0 : stride;
    stride *= own[d];
  }
  return operand;
}

namespace detail {

// A result's shape and the strides of its K operands with all dimensions merged that every operand walks as one.
template <std::size_t K>
struct Walk {
  int rank = 0;
  std::array<std::int64_t, max_rank> size{};
  std::array<std::array<std::int64_t, max_rank>, K> stride{};  // [operand][dimension]

  std::int64_t inner() const { return rank == 0 ? 1 : size[static_cast<std::size_t>(rank - 1)]; }
  std::int64_t inner_stride(std::size_t k) const { return rank == 0 ? 0 : stride[k][static_cast<std::size_t>(rank - 1)]; }

  // Where operand k reads its element for the element `index` of the result.
  std::int64_t offset(std::size_t k, std::int64_t index) const {
    std::int64_t at = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const auto s = static_cast<std::size_t>(d);
      at += index % size[s] * stride[k][s];
      index /= size[s];
    }
    return at;
  }
};

template <std::size_t K>
Walk<K> merge_dims(const Shape& shape, const std::array<const std::int64_t*, K>& strides) {
  Walk<K> walk;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    bool joins = walk.rank > 0;
    const auto last = static_cast<std::size_t>(joins ? walk.rank - 1 : 0);
    for (std::size_t k = 0; k < K; ++k) joins = joins && walk.stride[k][last] == strides[k][d] * shape[d];
    const auto at = joins ? last : static_cast<std::size_t>(walk.rank++);
    walk.size[at] = joins ? walk.size[at] * shape[d] : shape[d];
    for (std::size_t k = 0; k < K; ++k) walk.stride[k][at] = strides[k][d];
  }
  return walk;
}

// Elements that an operand is unrolled into when its innermost dimension is short or strided.
inline constexpr int unroll_length = 256;

// Writes the operand's elements for the results [first, first + count) one after the other.
template <std::size_t K, class T>
void unroll_operand(const Walk<K>& walk, std::size_t k, const T* data, std::int64_t first, std::int64_t count, T* to) {
  const std::int64_t inner = walk.inner(), step = walk.inner_stride(k);
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t index = first + done, run = (std::min)(count - done, inner - index % inner);
    const T* from = data + walk.offset(k, index);
    for (std::int64_t j = 0; j < run; ++j) to[done + j] = from[j * step];
    done += run;
  }
}

// One run of elements; only this is compiled for every instruction path, not the walk around it.
template <class F, class... O, class... In>
void map_steps(std::int64_t n, F& f, const std::tuple<O*...>& out, const std::int64_t* steps, const In*... in) {
  dispatch([&](auto bytes) __attribute__((always_inline)) {
    map_lanes<bytes()>(n, f, out, steps, std::index_sequence_for<O...>(), std::index_sequence_for<In...>(), in...);
  });
}

}  // namespace detail

// out[i] = f(operand[i]...) over a shape: out is contiguous, operands are broadcast. f as in map.
template <class F, class Out, class... In>
void map_broadcast(const Shape& shape, F&& f, Out out, const Operand<In>&... operand) {
  constexpr std::size_t count = sizeof...(In);
  const std::int64_t n = shape.numel();
  if (n == 0) return;
  const auto results = detail::as_outputs(out);
  const detail::Walk<count> walk = detail::merge_dims<count>(shape, {operand.strides.data()...});
  const std::int64_t inner = walk.inner();
  bool unit = true, long_rows = inner >= 32;  // is every operand contiguous; do rows pay
  for (std::size_t k = 0; k < count; ++k) {
    unit = unit && walk.rank <= 1 && walk.inner_stride(k) == 1;
    long_rows = long_rows && (walk.inner_stride(k) == 0 || walk.inner_stride(k) == 1);
  }
  if (unit) return map(n, f, out, operand.data...);

  const auto piece = [&]<std::size_t... K>(std::index_sequence<K...>, std::int64_t first, std::int64_t last) {
    alignas(64) std::byte buffer[count][detail::unroll_length * sizeof(double)];
    std::array<std::int64_t, count> steps = detail::unit_steps<In...>();
    const std::int64_t block = long_rows ? inner : detail::unroll_length;
    for (std::int64_t i = first, length; i < last; i += length) {
      length = (std::min)(last - i, long_rows ? inner - i % inner : block);
      const auto prepare = [&]<class T>(std::size_t k, const T* data) -> const T* {
        T* own = reinterpret_cast<T*>(buffer[k]);
        if (!long_rows) return detail::unroll_operand(walk, k, data, i, length, own), own;
        const T* from = data + walk.offset(k, i);
        steps[k] = walk.inner_stride(k);
        if (steps[k] == 1) return from;
        for (int j = 0; j < detail::max_lanes; ++j) own[j] = *from;
        return own;
      };
      detail::map_steps(length, f, detail::advance_all(results, i), steps.data(), prepare(K, operand.data)...);
    }
  };
  constexpr auto each = std::index_sequence_for<In...>();
  if (n < 2 * detail::map_grain) return piece(each, 0, n);
  parallel_for(n, detail::map_grain, [&](std::int64_t first, std::int64_t last) { piece(each, first, last); });
}

}  // namespace minitorch::kernels
