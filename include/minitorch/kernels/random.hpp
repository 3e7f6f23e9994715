// Random numbers as a function of seed, stream and the element's index in the whole tensor: the same bits on every path.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/core/parallel_for.hpp>
#include <minitorch/core/philox.hpp>
#include <minitorch/kernels/dispatch.hpp>
#include <minitorch/kernels/load_store.hpp>
#include <minitorch/kernels/math/basic.hpp>
#include <minitorch/kernels/random_window.hpp>

namespace minitorch::kernels {

namespace detail {

template <int W>
[[gnu::always_inline]] inline void multiply_low_words(Pack<std::uint64_t, W>& out, const Pack<std::uint64_t, W>& a,
                                                      const Pack<std::uint64_t, W>& b) {
  out = a * b;
}
#if defined(__x86_64__)
// One instruction, where the product of 64-bit lanes takes several.
[[gnu::target("avx512f")]] inline void multiply_low_words(Pack<std::uint64_t, 8>& out, const Pack<std::uint64_t, 8>& a,
                                                          const Pack<std::uint64_t, 8>& b) {
  asm("vpmuludq %2, %1, %0" : "=v"(out.v) : "v"(a.v), "v"(b.v));
}
[[gnu::target("avx2")]] inline void multiply_low_words(Pack<std::uint64_t, 4>& out, const Pack<std::uint64_t, 4>& a,
                                                       const Pack<std::uint64_t, 4>& b) {
  asm("vpmuludq %2, %1, %0" : "=x"(out.v) : "x"(a.v), "x"(b.v));
}
#endif

}  // namespace detail

template <int W>
[[gnu::always_inline]] inline Pack<std::uint64_t, W> multiply_words(const Pack<std::uint64_t, W>& a, const Pack<std::uint64_t, W>& b) {
  Pack<std::uint64_t, W> out;
  detail::multiply_low_words(out, a, b);
  return out;
}

namespace detail {

// Eight Philox blocks, counters 8 group to 8 group + 7: their words 0, 2, 1, 3, eight of each.
struct alignas(64) RandomGroup {
  std::uint32_t words[32];
};

template <int Bytes>
[[gnu::always_inline]] inline void fill_group(RandomGroup& out, RandomKey key, std::uint64_t group) {
  constexpr int W = Bytes / 8;
  using P = Pack<std::uint64_t, W>;
  P lane;
  for (int i = 0; i < W; ++i) lane.set(i, static_cast<std::uint64_t>(i));
  for (int first = 0; first < 8; first += W) {
    const P block = P(group * 8 + static_cast<std::uint64_t>(first)) + lane;
    std::array<P, 4> words = {block & P(std::uint64_t{0xffffffff}), block >> 32, P(key.stream & 0xffffffff), P(key.stream >> 32)};
    philox(words, key.seed);
    constexpr int place[4] = {0, 16, 8, 24};
    for (int w = 0; w < 4; ++w) store_raw(out.words + place[w] + first, convert<std::uint32_t>(words[static_cast<std::size_t>(w)]));
  }
}

// A product that no compiler fuses with the addition that follows, so that every path rounds it the same way.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> rounded(const Pack<T, W>& product) {
  bits_t<T> zero = 0;
  asm("" : "+r"(zero));
  return from_bits<T>(to_bits(product) ^ Pack<bits_t<T>, W>(zero));
}

template <class T, int W, class... C>
[[gnu::always_inline]] inline Pack<T, W> rounded_polynomial(const Pack<T, W>& x, double first, C... rest) {
  Pack<T, W> sum(first);
  ((sum = rounded(sum * x) + Pack<T, W>(rest)), ...);
  return sum;
}

// -2 ln(u) for u in (0, 1].
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> minus_two_log(const Pack<T, W>& u) {
  using P = Pack<T, W>;
  using Ints = Pack<bits_t<T>, W>;
  const Ints root = to_bits(P(0.70710678118654752440)), bits = to_bits(u) + (to_bits(P(1)) - root);
  const P n = to_real<T>(shift_down(bits, Real<T>::mantissa) - Ints(Real<T>::bias));
  const P f = from_bits<T>((bits & Ints((bits_t<T>{1} << Real<T>::mantissa) - 1)) + root) - P(1);
  const P s = f / (P(2) + f), z = rounded(s * s);
  P series;
  if constexpr (std::same_as<T, float>)
    series = rounded_polynomial(z, 2.0 / 9, 2.0 / 7, 0.4, 2.0 / 3, 2.0);
  else
    series = rounded_polynomial(z, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 0.4, 2.0 / 3, 2.0);
  return P(-2) * (rounded(n * P(0.69314718055994530942)) + rounded(s * series));
}

// cos and sin of a turn a in [-1/2, 1/2).
template <class T, int W>
[[gnu::always_inline]] inline void turn(const Pack<T, W>& a, Pack<T, W>& cosine, Pack<T, W>& sine) {
  using P = Pack<T, W>;
  const P quarter = round(P(4) * a), r = P(6.28318530717958647693) * (a - P(0.25) * quarter), z = rounded(r * r);
  P s, c;
  if constexpr (std::same_as<T, float>) {
    s = rounded_polynomial(z, 2.7557319e-6, -1.9841270e-4, 8.3333333e-3, -1.6666667e-1, 1.0);
    c = rounded_polynomial(z, 2.4801587e-5, -1.3888889e-3, 4.1666667e-2, -0.5, 1.0);
  } else {
    s = rounded_polynomial(z, -7.6471637318198165e-13, 1.6059043836821613e-10, -2.5052108385441720e-8, 2.7557319223985893e-6,
                           -1.9841269841269841e-4, 8.3333333333333333e-3, -1.6666666666666667e-1, 1.0);
    c = rounded_polynomial(z, 4.7794773323873853e-14, -1.1470745597729725e-11, 2.0876756987868099e-9, -2.7557319223985888e-7,
                           2.4801587301587302e-5, -1.3888888888888889e-3, 4.1666666666666667e-2, -0.5, 1.0);
  }
  s = s * r;
  const auto odd = (quarter == P(1)) | (quarter == P(-1)), half = abs(quarter) == P(2);
  cosine = select(odd, select(quarter < P(0), s, -s), select(half, -c, c));
  sine = select(odd, select(quarter < P(0), -c, c), select(half, -s, s));
}

// The numbers of one group that an element of T sees: 32 of 32 bits, or 16 of 64.
template <class C>
inline constexpr int group_size = std::same_as<C, double> ? 16 : 32;

// Numbers in [0, 1) with as many bits as T's mantissa holds, so that none rounds up to 1.
template <class T, int Bytes, class C>
[[gnu::always_inline]] inline void uniform_group(const RandomGroup& group, C* out) {
  if constexpr (std::same_as<C, double>) {
    for (int i = 0; i < 16; ++i) {
      const std::uint64_t bits = group.words[i] | std::uint64_t{group.words[i + 16]} << 32;
      out[i] = static_cast<double>(static_cast<std::int64_t>(bits >> 11)) * 0x1p-53;
    }
  } else {
    constexpr int W = Bytes / 4, digits = std::same_as<T, float> ? 24 : std::same_as<T, half> ? 11 : 8;
    for (int i = 0; i < 32; i += W) {
      const Pack<std::int32_t, W> bits = shift_down(load_raw<W, std::int32_t>(group.words + i), 32 - digits);
      store(out + i, convert<float>(bits) * Pack<float, W>(1.0 / (1 << digits)));
    }
  }
}

// Standard normal numbers: Box and Muller's transform of the group's first and second half.
template <int Bytes, class C>
[[gnu::always_inline]] inline void normal_group(const RandomGroup& group, C* out) {
  constexpr int W = Bytes / int{sizeof(C)}, half = group_size<C> / 2;
  using P = Pack<C, W>;
  for (int i = 0; i < half; i += W) {
    P u, a;
    if constexpr (std::same_as<C, double>) {
      for (int j = 0; j < W; ++j) {  // words 0 and 2 lie side by side, and so do 1 and 3
        const std::uint64_t first = group.words[i + j] | std::uint64_t{group.words[i + j + 16]} << 32;
        const std::uint64_t second = group.words[i + j + 8] | std::uint64_t{group.words[i + j + 24]} << 32;
        u.set(j, static_cast<double>(static_cast<std::int64_t>((first >> 12) + 1)) * 0x1p-52);
        a.set(j, static_cast<double>(static_cast<std::int64_t>(second) >> 11) * 0x1p-53);
      }
    } else {
      u = (convert<float>(shift_down(load_raw<W, std::int32_t>(group.words + i), 1)) + P(0.5f)) * P(0x1p-31f);
      a = convert<float>(load_raw<W, std::int32_t>(group.words + half + i) >> 8) * P(0x1p-24f);
    }
    P cosine, sine;
    turn(a, cosine, sine);
    const P radius = sqrt(minus_two_log(u));
    store(out + i, radius * cosine);
    store(out + half + i, radius * sine);
  }
}

// Numbers of type C for the elements of a window, `size` at a time: make(bytes, words, numbers) fills a group of them, and
// use(bytes, numbers, local index, count) takes those that lie in the window.
template <class C, int size, class Make, class Use>
void for_each_group(const Window& window, RandomKey key, Make make, Use use) {
  parallel_for(window.local.numel(), 1 << 13, [&](std::int64_t first, std::int64_t last) {
    dispatch([&](auto bytes) __attribute__((always_inline)) {
      for_each_run(
          window, first, last, [&](std::int64_t index, std::int64_t local, std::int64_t count) __attribute__((always_inline)) {
            RandomGroup words;
            alignas(64) C numbers[static_cast<std::size_t>(size)];
            for (std::int64_t done = 0, length; done < count; done += length) {
              const std::int64_t at = (index + done) % size;
              length = (std::min)(size - at, count - done);
              fill_group<bytes()>(words, key, static_cast<std::uint64_t>((index + done) / size));
              make(bytes, words, numbers);
              use(bytes, numbers + at, local + done, length);
            }
          });
    });
  });
}

// Calls body(Pack type, i) for whole packs and then single lanes of [0, count).
template <class C, int Bytes, class Body>
[[gnu::always_inline]] inline void for_packs(std::int64_t count, const Body& body) {
  constexpr int W = Bytes / int{sizeof(C)};
  std::int64_t i = 0;
  for (; i + W <= count; i += W) body(Pack<C, W>(), i);
  for (; i < count; ++i) body(Pack<C, 1>(), i);
}

// out[i] = shift + scale numbers[i], each operation rounded by itself.
template <int Bytes, class C, class T>
[[gnu::always_inline]] inline void scale_and_shift(const C* numbers, std::int64_t count, double scale, double shift, T* out) {
  for_packs<C, Bytes>(
      count, [&]<class P>(const P&, std::int64_t i)
                 __attribute__((always_inline)) { store(out + i, rounded(load<P>(numbers + i) * P(scale)) + P(shift)); });
}

}  // namespace detail

// out = low + (high - low) u with u uniform in [0, 1), for the elements of the window.
template <Scalar T>
void fill_uniform(const Window& window, RandomKey key, double low, double high, T* out) {
  using C = compute_t<T>;
  detail::for_each_group<C, detail::group_size<C>>(
      window, key, [](auto bytes, const detail::RandomGroup& words, C* u) __attribute__((always_inline)) {
        detail::uniform_group<T, bytes()>(words, u);
      },
      [=](auto bytes, const C* u, std::int64_t local, std::int64_t count)
          __attribute__((always_inline)) { detail::scale_and_shift<bytes()>(u, count, high - low, low, out + local); });
}

// out = mean + deviation z with z standard normal, for the elements of the window.
template <Scalar T>
void fill_normal(const Window& window, RandomKey key, double mean, double deviation, T* out) {
  using C = compute_t<T>;
  detail::for_each_group<C, detail::group_size<C>>(
      window, key,
      [](auto bytes, const detail::RandomGroup& words, C* z) __attribute__((always_inline)) { detail::normal_group<bytes()>(words, z); },
      [=](auto bytes, const C* z, std::int64_t local, std::int64_t count)
          __attribute__((always_inline)) { detail::scale_and_shift<bytes()>(z, count, deviation, mean, out + local); });
}

// out = in / (1 - p) where the element is kept and 0 where it is dropped, which happens with probability p. The same window and
// key drop the same elements: the gradient is dropout of dy. `out` may be `in`. Throws ArgumentError for p outside of [0, 1].
template <Scalar T>
void dropout(const Window& window, RandomKey key, double p, const T* in, T* out) {
  if (!(p >= 0 && p <= 1)) fail<ArgumentError>("dropout: p must be in [0, 1], got ", p);
  using C = compute_t<T>;
  const auto threshold = static_cast<std::int32_t>((std::min)(p * 0x1p31, 0x1p31 - 1));
  const double factor = p < 1 ? 1 / (1 - p) : 0;
  detail::for_each_group<C, 32>(
      window, key,
      [=](auto bytes, const detail::RandomGroup& words, C* factors) __attribute__((always_inline)) {
        constexpr int W = bytes() / int{sizeof(C)};
        for (int i = 0; i < 32; i += W) {
          const auto kept = shift_down(detail::load_raw<W, std::int32_t>(words.words + i), 1) >= Pack<std::int32_t, W>(threshold);
          store(factors + i, convert<C>(Pack<std::int32_t, W>(-kept.v)) * Pack<C, W>(factor));
        }
      },
      [=](auto bytes, const C* factors, std::int64_t local, std::int64_t count) __attribute__((always_inline)) {
        detail::for_packs<C, bytes()>(
            count, [&]<class P>(const P&, std::int64_t i) __attribute__((always_inline)) {
              const P by = load<P>(factors + i);
              store(out + local + i, select(by == P(0), P(0), load<P>(in + local + i) * by));
            });
      });
}

}  // namespace minitorch::kernels
