// Elementwise kernels over operands that are repeated along some dimensions (stride 0) or walked in another order.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/map.hpp>

namespace minitorch::kernels {

// An array seen in the shape of a result: how many elements apart neighbours are along each dimension, 0 where it is repeated.
using Strides = std::array<std::int64_t, max_rank>;
template <class T>
struct Operand {
  const T* data;
  Strides strides{};
};

// A contiguous array of shape `own`, which broadcasts to that of a result.
template <class T>
struct BroadcastOperand {
  const T* data;
  const Shape& own;
};
template <class T>
BroadcastOperand<T> broadcast_operand(const T* data, const Shape& own) {
  return {data, own};
}

// The strides of a contiguous array of shape `own`, seen in the shape that it broadcasts to.
inline Strides broadcast_strides(const Shape& own, const Shape& to) {
  Strides strides{};
  std::int64_t stride = 1;
  for (int d = own.rank() - 1; d >= 0; --d) {
    strides[static_cast<std::size_t>(d + to.rank() - own.rank())] = own[d] == 1 ? 0 : stride;
    stride *= own[d];
  }
  return strides;
}

namespace detail {

// Bits of numbers of any type.
template <class Bits>
using MayAlias [[gnu::may_alias]] = Bits;

// The most operands of a broadcast map.
inline constexpr std::size_t max_operands = 8;

// A result's shape and the strides of its operands with all dimensions merged that every operand walks as one.
class Walk {
 public:
  Walk(const Shape& shape, std::span<const Strides> strides) {
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] == 1) continue;
      bool joins = rank_ > 0;
      const auto from = static_cast<std::size_t>(d), last = static_cast<std::size_t>(joins ? rank_ - 1 : 0);
      for (std::size_t k = 0; k < strides.size(); ++k) joins = joins && stride_[k][last] == strides[k][from] * shape[d];
      const auto at = joins ? last : static_cast<std::size_t>(rank_++);
      size_[at] = joins ? size_[at] * shape[d] : shape[d];
      for (std::size_t k = 0; k < strides.size(); ++k) stride_[k][at] = strides[k][from];
    }
  }

  int rank() const { return rank_; }
  std::int64_t inner() const { return rank_ == 0 ? 1 : size_[static_cast<std::size_t>(rank_ - 1)]; }
  std::int64_t inner_stride(std::size_t k) const { return rank_ == 0 ? 0 : stride_[k][static_cast<std::size_t>(rank_ - 1)]; }

  // Where operand k reads its element for the element `index` of the result.
  std::int64_t offset(std::size_t k, std::int64_t index) const {
    std::int64_t at = 0;
    for (int d = rank_ - 1; d >= 0; --d) {
      const auto s = static_cast<std::size_t>(d);
      at += index % size_[s] * stride_[k][s];
      index /= size_[s];
    }
    return at;
  }

 private:
  int rank_ = 0;
  std::array<std::int64_t, max_rank> size_{};
  std::array<Strides, max_operands> stride_{};  // [operand][dimension]
};

// to[i] = from[i * step] for elements of so many bytes.
template <class Bits>
void gather_bits(std::int64_t count, const void* from, std::int64_t step, void* to) {
  for (std::int64_t i = 0; i < count; ++i) static_cast<Bits*>(to)[i] = static_cast<const Bits*>(from)[i * step];
}
inline void gather(int size, std::int64_t count, const void* from, std::int64_t step, void* to) {
  switch (size) {
    case 1: return gather_bits<MayAlias<std::uint8_t>>(count, from, step, to);
    case 2: return gather_bits<MayAlias<std::uint16_t>>(count, from, step, to);
    case 4: return gather_bits<MayAlias<std::uint32_t>>(count, from, step, to);
    default: return gather_bits<MayAlias<std::uint64_t>>(count, from, step, to);
  }
}

// Elements that an operand is unrolled into when its innermost dimension is short or strided.
inline constexpr int unroll_length = 256;

// Writes operand k's elements for the results [first, first + count) one after the other.
inline void unroll_operand(const Walk& walk, std::size_t k, int size, const std::byte* data, std::int64_t first, std::int64_t count,
                           std::byte* to) {
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t index = first + done, run = (std::min)(count - done, walk.inner() - index % walk.inner());
    gather(size, run, data + walk.offset(k, index) * size, walk.inner_stride(k), to + done * size);
    done += run;
  }
}

// The results [first, last): rows of the innermost dimension where rows are long, else blocks of unrolled operands.
inline void run_walk(const MapJob& job, const Walk& walk, bool long_rows, std::int64_t first, std::int64_t last) {
  alignas(64) std::byte buffer[max_operands][unroll_length * sizeof(double)];
  void* out[max_arrays];
  const void* in[max_operands];
  std::array<std::int64_t, max_operands> steps;
  steps.fill(1);
  for (std::int64_t i = first, length; i < last; i += length) {
    length = (std::min<std::int64_t>)(last - i, long_rows ? walk.inner() - i % walk.inner() : unroll_length);
    for (std::size_t k = 0; k < job.ins; ++k) {
      const auto* data = static_cast<const std::byte*>(job.whole.in[k]);
      const int size = job.sizes[job.outs + k];
      in[k] = buffer[k];
      if (!long_rows) {
        unroll_operand(walk, k, size, data, i, length, buffer[k]);
      } else {
        const std::byte* from = data + walk.offset(k, i) * size;
        steps[k] = walk.inner_stride(k);
        if (steps[k] == 1)
          in[k] = from;
        else
          gather(size, max_lanes, from, 0, buffer[k]);
      }
    }
    advance_outputs(job, i, out);
    const MapRun row{length, job.whole.function, out, in, steps.data()};
    run_kernel(job.kernel, row);
  }
}

inline void run_broadcast(const Shape& shape, const MapJob& job, std::span<const Strides> strides) {
  const std::int64_t n = job.whole.n;
  if (n == 0) return;
  const Walk walk(shape, strides);
  bool unit = true, long_rows = walk.inner() >= 32;  // is every operand contiguous; do rows pay
  for (std::size_t k = 0; k < strides.size(); ++k) {
    unit = unit && walk.rank() <= 1 && walk.inner_stride(k) == 1;
    long_rows = long_rows && (walk.inner_stride(k) == 0 || walk.inner_stride(k) == 1);
  }
  if (unit) return run_map(job);
  if (n < 2 * map_grain) return run_walk(job, walk, long_rows, 0, n);
  parallel_for(n, map_grain, [&](std::int64_t first, std::int64_t last) { run_walk(job, walk, long_rows, first, last); });
}

inline void run_broadcast(const Shape& shape, const MapJob& job, std::span<const Shape* const> own) {
  bool alike = true;
  for (const Shape* each : own) alike = alike && *each == shape;
  if (alike) return run_map(job);
  std::array<Strides, max_operands> strides;
  for (std::size_t k = 0; k < own.size(); ++k) strides[k] = broadcast_strides(*own[k], shape);
  run_broadcast(shape, job, std::span<const Strides>(strides.data(), own.size()));
}

}  // namespace detail

// out[i] = f(operand[i]...) over a shape: out is contiguous, operands are broadcast. f as in map.
template <class F, class Out, class... In>
void map_broadcast(const Shape& shape, const F& f, Out out, const BroadcastOperand<In>&... operand) {
  static_assert(sizeof...(In) <= detail::max_operands);
  const Shape* const own[] = {&operand.own...};
  detail::with_map_job(
      shape.numel(), [&](const detail::MapJob& job) { detail::run_broadcast(shape, job, own); }, f, out, operand.data...);
}
template <class F, class Out, class... In>
void map_broadcast(const Shape& shape, const F& f, Out out, const Operand<In>&... operand) {
  static_assert(sizeof...(In) <= detail::max_operands);
  const Strides strides[] = {operand.strides...};
  detail::with_map_job(
      shape.numel(), [&](const detail::MapJob& job) { detail::run_broadcast(shape, job, std::span<const Strides>(strides)); }, f, out,
      operand.data...);
}

}  // namespace minitorch::kernels
