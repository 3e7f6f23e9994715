// What prepares the operands of a product: conversion to the computed element, and panels that the tiles read front to back.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <minitorch/kernels/dispatch.hpp>
#include <minitorch/kernels/gemm_micro.hpp>
#include <minitorch/kernels/gemm_narrow.hpp>
#include <minitorch/kernels/load_store.hpp>
#include <minitorch/kernels/pack.hpp>
#include <minitorch/kernels/rows.hpp>

namespace minitorch::kernels {

namespace detail {

// Converts `rows` runs of `count` numbers each; the strides are bytes from one run to the next.
struct ConvertJob {
  const std::byte* from;
  std::int64_t from_row;
  std::byte* to;
  std::int64_t to_row;
  std::int64_t rows, count;
};
using ConvertFunction = void (*)(const ConvertJob&);

// From is rounded to Narrow (the type that the product computes in) and stored as To.
template <class From, class Narrow, class To, bool Flush>
struct Converter {
  const ConvertJob& job;

  template <int Bytes>
  [[gnu::always_inline]] void operator()(std::integral_constant<int, Bytes>) const {
    constexpr std::size_t W = Bytes / 4;
    const ConvertJob j = job;  // which no store can change
    const std::byte* from_run = j.from;
    std::byte* to_run = j.to;
    for (std::int64_t left = j.rows; left > 0; --left, from_run += j.from_row, to_run += j.to_row) {
      const auto* from = reinterpret_cast<const From*>(from_run);
      auto* to = reinterpret_cast<To*>(to_run);
      std::int64_t i = 0;
      for (; i + 2 * std::int64_t{W} <= j.count; i += 2 * std::int64_t{W})
        store_products<Flush>(to + i, rounded(load<Pack<float, int{W}>>(from + i)), rounded(load<Pack<float, int{W}>>(from + i + W)));
      for (; i + std::int64_t{W} <= j.count; i += std::int64_t{W})
        store_product<Flush>(to + i, rounded(load<Pack<float, int{W}>>(from + i)));
      if (const std::int64_t rest = j.count - i; rest > 0) {
        To lanes[W];
        store_product<Flush>(lanes, rounded(load_some<Pack<float, int{W}>>(from + i, rest)));
        copy_few<int{W / 2}>(to + i, lanes, rest);
      }
    }
  }

  template <int W>
  [[gnu::always_inline]] static Pack<float, W> rounded(const Pack<float, W>& x) {
    if constexpr (!std::same_as<From, Narrow> && !std::same_as<To, Narrow>)
      return widen<Narrow>(narrow<Narrow>(x));
    else
      return x;
  }
};

template <class From, class Narrow, class To, bool Flush>
void convert_runs(const ConvertJob& job) {
  dispatch(Converter<From, Narrow, To, Flush>{job});
}

// One operand of a product: `lanes` are the rows of a or the columns of b. Element (lane, p) is at data + lane * lane_stride
// + p * k_stride (bytes); one of the strides is the size of an element.
struct Side {
  const std::byte* data;
  std::int64_t lane_stride, k_stride;
  std::int64_t element;     // its size in bytes, as stored
  ConvertFunction convert;  // null when the stored type is the computed one

  bool along_k() const { return k_stride == element; }
  Side at(std::int64_t lane, std::int64_t p) const {
    return {data + lane * lane_stride + p * k_stride, lane_stride, k_stride, element, convert};
  }
};

// One vector from runs of 16 bytes.
template <class Vector, std::size_t Runs>
[[gnu::always_inline]] inline void side_by_side(Vector& out, const std::byte* const (&runs)[Runs]) {
  static_assert(sizeof out == 16 * Runs);
  for (std::size_t i = 0; i < Runs; ++i) __builtin_memcpy(reinterpret_cast<std::byte*>(&out) + 16 * i, runs[i], 16);
}

#if defined(__x86_64__)
// Compilers shuffle registers for this, in one of the units that multiply; inserting from memory leaves it alone.
struct Run16 {
  std::byte bytes[16];
};
template <class Vector>
[[gnu::target("avx")]] inline void side_by_side(Vector& out, const std::byte* const (&runs)[2]) {
  const auto run = [&](std::size_t i) { return reinterpret_cast<const Run16*>(runs[i]); };
  asm("vmovups %1, %x0\n\tvinsertf128 $1, %2, %t0, %t0" : "=&x"(out) : "m"(*run(0)), "m"(*run(1)));
}
// Masked broadcasts: 44 cycles a square of 16 x 16 floats, where insertions took 50.
template <class Vector>
[[gnu::target("avx512f,avx512vl")]] inline void side_by_side(Vector& out, const std::byte* const (&runs)[4]) {
  const auto run = [&](std::size_t i) { return reinterpret_cast<const Run16*>(runs[i]); };
  const std::uint16_t second = 0xf0, third = 0xf00, fourth = 0xf000;
  asm("vmovups %1, %x0\n\tvbroadcastf32x4 %2, %0%{%5%}\n\tvbroadcastf32x4 %3, %0%{%6%}\n\tvbroadcastf32x4 %4, %0%{%7%}"
      : "=&v"(out)
      : "m"(*run(0)), "m"(*run(1)), "m"(*run(2)), "m"(*run(3)), "Yk"(second), "Yk"(third), "Yk"(fourth));
}
#endif

// In each 16 bytes the first half of the lanes (or the second) of a and b in turns.
template <int Half, class T, int W>
[[gnu::always_inline]] inline Pack<T, W> zip_lanes(const Pack<T, W>& a, const Pack<T, W>& b) {
  constexpr int L = 16 / int{sizeof(T)};
  return [&]<int... Lane>(std::integer_sequence<int, Lane...>) __attribute__((always_inline)) {
    return Pack<T, W>(__builtin_shufflevector(a.v, b.v, (Lane / L * L + Half * L / 2 + Lane % L / 2 + Lane % 2 * W)...));
  }
  (std::make_integer_sequence<int, W>());
}

// Transposes a square of W rows, `stride` bytes apart, into rows of `to`. The loads put rows side by side, 16 bytes of each, so that
// only these are left to be transposed in registers.
template <class T, int W>
[[gnu::always_inline]] inline void store_transposed(T* to, std::int64_t to_row, const std::byte* from, std::int64_t stride) {
  constexpr int L = 16 / int{sizeof(T)};
  static_assert(L == 2 || L == 4);
  // Few addresses, or they would be kept in registers of vectors, and fetching them costs as much as inserting.
  const std::byte* group[std::size_t{W / L}];
#pragma GCC unroll 4
  for (int g = 0; g < W / L; ++g) {
    group[g] = from + g * L * stride;
    asm("" : "+r"(group[g]));
  }
  std::int64_t three = 3 * stride, to_three = 3 * to_row;
  asm("" : "+r"(three), "+r"(to_three), "+r"(stride), "+r"(to_row));
#pragma GCC unroll 8
  for (int c = 0; c < W; c += L) {
    Pack<T, W> rows[std::size_t{L}];
#pragma GCC unroll 4
    for (int i = 0; i < L; ++i) {
      const std::byte* runs[std::size_t{W / L}];
#pragma GCC unroll 4
      for (int g = 0; g < W / L; ++g) runs[g] = group[g] + (i == 3 ? three : i * stride) + c * int{sizeof(T)};
      side_by_side(rows[i].v, runs);
    }
    if constexpr (L == 4) {
      const auto even_low = zip_lanes<0>(rows[0], rows[2]), even_high = zip_lanes<1>(rows[0], rows[2]);
      const auto odd_low = zip_lanes<0>(rows[1], rows[3]), odd_high = zip_lanes<1>(rows[1], rows[3]);
      store_raw(to, zip_lanes<0>(even_low, odd_low));
      store_raw(to + to_row, zip_lanes<1>(even_low, odd_low));
      store_raw(to + 2 * to_row, zip_lanes<0>(even_high, odd_high));
      store_raw(to + to_three, zip_lanes<1>(even_high, odd_high));
    } else {
      store_raw(to, zip_lanes<0>(rows[0], rows[1]));
      store_raw(to + to_row, zip_lanes<1>(rows[0], rows[1]));
    }
    to += L * to_row;
    asm("" : "+r"(to));
  }
}

// Writes one panel: unit p of lane l goes to to[p * width + l]. `lanes` is how many the operand has from here on: fewer than the
// width are filled up with zeros, as is the missing half of a last pair. Writes up to one vector past its end.
template <class Arithmetic>
struct PanelPacker {
  using Unit = typename Arithmetic::Unit;
  using Element = typename Arithmetic::Element;

  Unit* to;
  std::int64_t width, lanes, k;  // k in elements
  Side from;

  template <int Bytes>
  [[gnu::always_inline]] void operator()(std::integral_constant<int, Bytes>) const {
    if (from.along_k())
      along_k<Bytes>();
    else
      along_lanes<Bytes>();
  }

  // Squares of W x W units are read along k and transposed in registers.
  template <int Bytes>
  [[gnu::always_inline]] void along_k() const {
    constexpr int W = Bytes / int{sizeof(Unit)};
    const std::int64_t row = from.lane_stride, to_row = width;
    for (std::int64_t lane = last_group<W>(); lane >= 0; lane -= W) {
      const std::byte* corner = from.data + lane * row;
      Unit* out = to + lane;
      std::int64_t left = k * std::int64_t{sizeof(Element)};
      if (lane + W <= lanes)
        for (; left >= Bytes; left -= Bytes, corner += Bytes, out += W * to_row) store_transposed<Unit, W>(out, to_row, corner, row);
      for (; left > 0; left -= Bytes, corner += Bytes, out += W * to_row) transpose_part<W>(out, corner, lanes - lane, left);
    }
  }

  // The square whose rows have no more than `left` bytes, or are fewer.
  template <int W>
  [[gnu::always_inline]] void transpose_part(Unit* out, const std::byte* corner, std::int64_t rows_here, std::int64_t left) const {
    Pack<Unit, W> rows[std::size_t{W}], columns[std::size_t{W}];
    for (int i = 0; i < W && i < rows_here; ++i) rows[i] = first_units<W>(corner + i * from.lane_stride, left);
    store_transposed<Unit, W>(reinterpret_cast<Unit*>(columns), W, reinterpret_cast<const std::byte*>(rows), sizeof rows[0]);
    for (int i = 0; i < W && i * std::int64_t{sizeof(Unit)} < left; ++i) store_raw(out + i * width, columns[i]);
  }

  template <int Bytes>
  [[gnu::always_inline]] void along_lanes() const {
    constexpr int W = Bytes / int{sizeof(Unit)};
    const std::int64_t whole = k / unit_elements<Arithmetic>;
    if constexpr (unit_elements<Arithmetic> == 2) {
      if (width == 2 * W && lanes >= width) {
        for (std::int64_t p = 0; p < whole; ++p)
          zip<W>(to + p * width, from.data + 2 * p * from.k_stride, from.data + (2 * p + 1) * from.k_stride);
        if (whole * 2 < k) {
          constexpr std::byte zeros[2 * W * sizeof(Element)] = {};
          zip<W>(to + whole * width, from.data + 2 * whole * from.k_stride, zeros);
        }
        return;
      }
    }
    for (std::int64_t lane = last_group<W>(); lane >= 0; lane -= W) {
      const std::byte* in = from.data + lane * from.lane_stride;
      Unit* out = to + lane;
      const std::int64_t here = lanes - lane < W ? lanes - lane : W;
      if (here == W) {
        for (std::int64_t p = 0; p < whole; ++p, in += unit_elements<Arithmetic> * from.k_stride, out += width)
          store_raw(out, unit_row<W>(in, in + from.k_stride));
      } else {
        for (std::int64_t p = 0; p < whole; ++p, in += unit_elements<Arithmetic> * from.k_stride, out += width)
          store_raw(out, part_of_row<W>(in, in + from.k_stride, here));
      }
      if (whole * unit_elements<Arithmetic> < k) store_raw(out, part_of_row<W>(in, nullptr, here));
    }
  }

  // 2 W pairs of the elements of two rows.
  template <int W>
  [[gnu::always_inline]] static void zip(Unit* out, const std::byte* row, const std::byte* next) {
    vector_t<std::int16_t, 2 * W> a, b;
    __builtin_memcpy(&a, row, sizeof a);
    __builtin_memcpy(&b, next, sizeof b);
    [&]<int... Lane>(std::integer_sequence<int, Lane...>) __attribute__((always_inline)) {
      const vector_t<std::int16_t, 2 * W> low = __builtin_shufflevector(a, b, (Lane / 2 + Lane % 2 * 2 * W)...);
      const vector_t<std::int16_t, 2 * W> high = __builtin_shufflevector(a, b, (W + Lane / 2 + Lane % 2 * 2 * W)...);
      __builtin_memcpy(out, &low, sizeof low);
      __builtin_memcpy(out + W, &high, sizeof high);
    }
    (std::make_integer_sequence<int, 2 * W>());
  }

  // Groups of lanes are written from the last to the first: what one writes past the width belongs to the first.
  template <int W>
  std::int64_t last_group() const {
    return (width - 1) / W * W;
  }

  // W units: the numbers themselves, or pairs of the elements of two neighbouring rows.
  template <int W>
  [[gnu::always_inline]] static Pack<Unit, W> unit_row(const std::byte* row, [[maybe_unused]] const std::byte* next) {
    if constexpr (unit_elements<Arithmetic> == 1) {
      return load_raw<W, Unit>(row);
    } else {
      const auto low = convert<std::int32_t>(load_raw<W, std::int16_t>(row)), high = convert<std::int32_t>(load_raw<W, std::int16_t>(next));
      return (low & Pack<Unit, W>(0xffff)) | high << 16;
    }
  }

  template <int W>
  [[gnu::always_inline]] static Pack<Unit, W> part_of_row(const std::byte* row, const std::byte* next, std::int64_t lanes_here) {
    if constexpr (unit_elements<Arithmetic> == 1) {
      return load_some<Pack<Unit, W>>(reinterpret_cast<const Unit*>(row), lanes_here);
    } else {
      using Elements = Pack<std::int16_t, W>;
      const auto low = convert<std::int32_t>(load_some<Elements>(reinterpret_cast<const std::int16_t*>(row), lanes_here));
      Elements above;
      if (next != nullptr) above = load_some<Elements>(reinterpret_cast<const std::int16_t*>(next), lanes_here);
      return (low & Pack<Unit, W>(0xffff)) | convert<std::int32_t>(above) << 16;
    }
  }

  // The units in the first `bytes` bytes of a row along k; the last may be half a pair.
  template <int W>
  [[gnu::always_inline]] static Pack<Unit, W> first_units(const std::byte* row, std::int64_t bytes) {
    constexpr std::int64_t size = sizeof(Unit);
    Pack<Unit, W> out = load_some<Pack<Unit, W>>(reinterpret_cast<const Unit*>(row), bytes / size);
    if constexpr (unit_elements<Arithmetic> == 2) {
      if (bytes < W * size && bytes % size != 0) {
        std::uint16_t last = 0;
        __builtin_memcpy(&last, row + bytes / size * size, sizeof last);
        out.set(static_cast<int>(bytes / size), last);
      }
    }
    return out;
  }
};

// Writes `panels` panels side by side from an operand whose lanes are neighbours: some steps of k for all panels, then the next, so
// that memory is read in its order. There are lanes behind the last panel to fill its last vector.
template <class Unit>
struct PanelsPacker {
  Unit* to;
  std::int64_t width, panels, k;
  Side from;

  template <int Bytes>
  [[gnu::always_inline]] void operator()(std::integral_constant<int, Bytes>) const {
    constexpr int W = Bytes / int{sizeof(Unit)};
    constexpr std::int64_t steps = 16;
    for (std::int64_t first = 0; first < k; first += steps) {
      const std::int64_t last = first + steps < k ? first + steps : k - 1;  // the last step must not write into the next panel
      for (std::int64_t panel = 0; panel < panels; ++panel) {
        const std::byte* in = from.data + first * from.k_stride + panel * width * from.lane_stride;
        Unit* out = to + (panel * k + first) * width;
        for (std::int64_t p = first; p < last; ++p, in += from.k_stride, out += width)
          for (std::int64_t lane = 0; lane < width; lane += W) store_raw(out + lane, load_raw<W, Unit>(in + lane * from.lane_stride));
        if (first + steps >= k)
          for (std::int64_t lane = 0; lane < width; lane += W)
            store_some(out + lane, load_raw<W, Unit>(in + lane * from.lane_stride), width - lane);
      }
    }
  }
};

// The block of `lanes` x k numbers as the product computes them, written to `to` in the order in which the operand has them.
template <class Arithmetic>
Side convert_side(const Side& from, std::int64_t lanes, std::int64_t k, std::byte* to, std::int64_t to_row) {
  constexpr std::int64_t element = sizeof(typename Arithmetic::Element);
  if (from.along_k()) {
    from.convert({from.data, from.lane_stride, to, to_row, lanes, k});
    return {to, to_row, element, element, nullptr};
  }
  from.convert({from.data, from.k_stride, to, to_row, k, lanes});
  return {to, element, to_row, element, nullptr};
}

// Bytes from one run to the next in a converted block: whole vectors, and never a multiple of a page.
constexpr std::int64_t converted_row(std::int64_t run_bytes) { return (run_bytes + 63) / 64 * 64 + 64; }

// The lanes of a panel as the product computes them: where they lie, or converted into `room` (room_for_panel bytes).
template <class Arithmetic>
Side converted_panel(const Side& from, std::int64_t width, std::int64_t lanes, std::int64_t k, std::byte* room) {
  if (from.convert == nullptr) return from;
  const std::int64_t whole = (width + 15) / 16 * 16, here = lanes < whole ? lanes : whole;
  constexpr std::int64_t element = sizeof(typename Arithmetic::Element);
  return convert_side<Arithmetic>(from, here, k, room, converted_row((from.along_k() ? k : here) * element));
}

// Packs a panel whatever the stored type is.
template <class Arithmetic>
void pack_panel(typename Arithmetic::Unit* to, std::int64_t width, std::int64_t lanes, std::int64_t k, const Side& from, std::byte* room) {
  if (from.convert != nullptr && !from.along_k() && unit_elements<Arithmetic> == 1 && lanes >= width) {  // rows of the panel already
    constexpr std::int64_t element = sizeof(typename Arithmetic::Element);
    return from.convert({from.data, from.k_stride, reinterpret_cast<std::byte*>(to), width * element, k, width});
  }
  dispatch(PanelPacker<Arithmetic>{to, width, lanes, k, converted_panel<Arithmetic>(from, width, lanes, k, room)});
}

template <class Arithmetic>
constexpr std::int64_t room_for_panel(std::int64_t width, std::int64_t k) {
  constexpr std::int64_t element = sizeof(typename Arithmetic::Element);
  const std::int64_t whole = (width + 15) / 16 * 16;
  return whole * converted_row(k * element) + k * converted_row(whole * element);
}

}  // namespace detail

}  // namespace minitorch::kernels
