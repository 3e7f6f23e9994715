// Pack<T, W>: W numbers of type T that are computed together. Mask<Bytes, W>: W answers for lanes of that size.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace minitorch::kernels {

namespace detail {

template <int Bytes>
struct int_of_size;
template <>
struct int_of_size<1> : std::type_identity<std::int8_t> {};
template <>
struct int_of_size<2> : std::type_identity<std::int16_t> {};
template <>
struct int_of_size<4> : std::type_identity<std::int32_t> {};
template <>
struct int_of_size<8> : std::type_identity<std::int64_t> {};

}  // namespace detail

// The signed integer as large as T: what the bits of a T are seen as.
template <class T>
using bits_t = typename detail::int_of_size<int{sizeof(T)}>::type;

// The vector type of the compiler. It never crosses a function boundary by value: its way of being passed depends on the target.
template <class T, int W>
using vector_t [[gnu::vector_size(W * int{sizeof(T)})]] = T;

// Answers of lane comparisons: all bits set for yes, none for no.
template <int Bytes, int W>
class Mask {
 public:
  using Lane = typename detail::int_of_size<Bytes>::type;
  using Vector [[gnu::vector_size(W * Bytes)]] = Lane;

  Vector v;

  [[gnu::always_inline]] Mask() : v{} {}
  [[gnu::always_inline]] explicit Mask(const Vector& vector) : v(vector) {}
  [[gnu::always_inline]] explicit Mask(bool all) : v(Vector{} - static_cast<Lane>(all)) {}
  [[gnu::always_inline]] Mask(const Mask& o) : v(o.v) {}  // user-provided: a Mask is passed by reference, see Pack
  [[gnu::always_inline]] Mask& operator=(const Mask& o) { return v = o.v, *this; }

  [[gnu::always_inline]] bool operator[](int lane) const { return v[lane] != 0; }
  [[gnu::always_inline]] friend Mask operator&(const Mask& a, const Mask& b) { return Mask(a.v & b.v); }
  [[gnu::always_inline]] friend Mask operator|(const Mask& a, const Mask& b) { return Mask(a.v | b.v); }
  [[gnu::always_inline]] friend Mask operator^(const Mask& a, const Mask& b) { return Mask(a.v ^ b.v); }
  [[gnu::always_inline]] friend Mask operator~(const Mask& a) { return Mask(~a.v); }
  [[gnu::always_inline]] friend Mask operator!(const Mask& a) { return Mask(~a.v); }
  [[gnu::always_inline]] friend Mask operator&&(const Mask& a, const Mask& b) { return Mask(a.v & b.v); }
  [[gnu::always_inline]] friend Mask operator||(const Mask& a, const Mask& b) { return Mask(a.v | b.v); }
};

template <class T, int W>
class Pack;

namespace detail {

// Comparisons, by the predicates' numbers in AVX-512.
inline constexpr int equal = 0, less = 1, less_equal = 2, not_equal = 4;

template <int Predicate, class T, int W>
Mask<int{sizeof(T)}, W> compare(const Pack<T, W>& a, const Pack<T, W>& b);
template <class T, int W>
void select_lanes(Pack<T, W>& out, const Mask<int{sizeof(T)}, W>& m, const Pack<T, W>& a, const Pack<T, W>& b);

}  // namespace detail

// Arithmetic is lane by lane; integers wrap around. A plain number converts to a Pack of copies: `2.0 * a` and `a + 1` mean what they say.
// The copy constructor is user-provided on purpose: it makes the class pass by reference, which is the same for every target;
// a bare vector, or a trivially copyable wrapper, passed to a function compiled for another target would be silently wrong.
template <class T, int W>
class Pack {
 public:
  using Scalar = T;
  using Vector [[gnu::vector_size(W * int{sizeof(T)})]] = T;
  using Bits = Pack<bits_t<T>, W>;
  using MaskType = Mask<int{sizeof(T)}, W>;
  static constexpr int width = W;

  Vector v;

  [[gnu::always_inline]] Pack() : v{} {}
  [[gnu::always_inline]] explicit Pack(const Vector& vector) : v(vector) {}
  template <class S>
  requires std::is_arithmetic_v<S>
  [[gnu::always_inline]] Pack(S number) : v(static_cast<T>(number) - Vector{}) {}  // not 0 + number: -0 stays -0
  [[gnu::always_inline]] Pack(const Pack& o) : v(o.v) {}
  [[gnu::always_inline]] Pack& operator=(const Pack& o) { return v = o.v, *this; }

  [[gnu::always_inline]] T operator[](int lane) const { return v[lane]; }
  [[gnu::always_inline]] void set(int lane, T number) { v[lane] = number; }

  [[gnu::always_inline]] Pack& operator+=(const Pack& b) { return *this = *this + b; }
  [[gnu::always_inline]] Pack& operator-=(const Pack& b) { return *this = *this - b; }
  [[gnu::always_inline]] Pack& operator*=(const Pack& b) { return *this = *this * b; }
  [[gnu::always_inline]] Pack& operator/=(const Pack& b) { return v /= b.v, *this; }

  [[gnu::always_inline]] friend Pack operator+(const Pack& a, const Pack& b) {
    return Pack(reinterpret_cast<Vector>(reinterpret_cast<Wrapping>(a.v) + reinterpret_cast<Wrapping>(b.v)));
  }
  [[gnu::always_inline]] friend Pack operator-(const Pack& a, const Pack& b) {
    return Pack(reinterpret_cast<Vector>(reinterpret_cast<Wrapping>(a.v) - reinterpret_cast<Wrapping>(b.v)));
  }
  [[gnu::always_inline]] friend Pack operator*(const Pack& a, const Pack& b) {
    return Pack(reinterpret_cast<Vector>(reinterpret_cast<Wrapping>(a.v) * reinterpret_cast<Wrapping>(b.v)));
  }
  [[gnu::always_inline]] friend Pack operator/(const Pack& a, const Pack& b) { return Pack(a.v / b.v); }
  [[gnu::always_inline]] friend Pack operator-(const Pack& a) { return Pack(reinterpret_cast<Vector>(-reinterpret_cast<Wrapping>(a.v))); }
  [[gnu::always_inline]] friend Pack operator+(const Pack& a) { return a; }

  // Integers only.
  [[gnu::always_inline]] friend Pack operator&(const Pack& a, const Pack& b) { return Pack(a.v & b.v); }
  [[gnu::always_inline]] friend Pack operator|(const Pack& a, const Pack& b) { return Pack(a.v | b.v); }
  [[gnu::always_inline]] friend Pack operator^(const Pack& a, const Pack& b) { return Pack(a.v ^ b.v); }
  [[gnu::always_inline]] friend Pack operator~(const Pack& a) { return Pack(~a.v); }
  [[gnu::always_inline]] friend Pack operator<<(const Pack& a, int count) { return Pack(a.v << count); }
  [[gnu::always_inline]] friend Pack operator>>(const Pack& a, int count) { return Pack(a.v >> count); }

  [[gnu::always_inline]] friend MaskType operator<(const Pack& a, const Pack& b) { return detail::compare<detail::less>(a, b); }
  [[gnu::always_inline]] friend MaskType operator<=(const Pack& a, const Pack& b) { return detail::compare<detail::less_equal>(a, b); }
  [[gnu::always_inline]] friend MaskType operator>(const Pack& a, const Pack& b) { return detail::compare<detail::less>(b, a); }
  [[gnu::always_inline]] friend MaskType operator>=(const Pack& a, const Pack& b) { return detail::compare<detail::less_equal>(b, a); }
  [[gnu::always_inline]] friend MaskType operator==(const Pack& a, const Pack& b) { return detail::compare<detail::equal>(a, b); }
  [[gnu::always_inline]] friend MaskType operator!=(const Pack& a, const Pack& b) { return detail::compare<detail::not_equal>(a, b); }

  // a where the mask says yes, b elsewhere.
  [[gnu::always_inline]] friend Pack select(const MaskType& m, const Pack& a, const Pack& b) {
    Pack out;
    detail::select_lanes(out, m, a, b);
    return out;
  }

  // a * b + c, rounded once where the target has such an instruction and twice elsewhere.
  [[gnu::always_inline]] friend Pack fma(const Pack& a, const Pack& b, const Pack& c) {
#if defined(__clang__)
#pragma clang fp contract(fast)
#endif
    return Pack(a.v * b.v + c.v);
  }

 private:
  // Signed integers must not overflow, unsigned ones wrap around.
  using Unsigned = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  using Wrapping [[gnu::vector_size(W * int{sizeof(T)})]] = Unsigned;
};

namespace detail {

template <int Predicate, class T, int W>
[[gnu::always_inline]] inline void compare_lanes(Mask<int{sizeof(T)}, W>& out, const Pack<T, W>& a, const Pack<T, W>& b) {
  using Answers = Mask<int{sizeof(T)}, W>;
  if constexpr (Predicate == less)
    out = Answers(a.v < b.v);
  else if constexpr (Predicate == less_equal)
    out = Answers(a.v <= b.v);
  else if constexpr (Predicate == equal)
    out = Answers(a.v == b.v);
  else
    out = Answers(a.v != b.v);
}

template <class T, int W>
[[gnu::always_inline]] inline void select_lanes(Pack<T, W>& out, const Mask<int{sizeof(T)}, W>& m, const Pack<T, W>& a,
                                                const Pack<T, W>& b) {
  out.v = m.v ? a.v : b.v;
}

#if defined(__x86_64__)
// g++ gives the comparisons of a function without target masks that AVX-512 does not have, and then goes lane by lane: so the
// instructions by name. Packs of 64 bytes only occur on the paths that have them.
template <int Predicate, class T, int W>
requires(W * sizeof(T) == 64)
    [[gnu::target("avx512f,avx512dq")]] inline void compare_lanes(Mask<int{sizeof(T)}, W>& out, const Pack<T, W>& a, const Pack<T, W>& b) {
  std::conditional_t<W == 16, std::uint16_t, std::uint8_t> bits;
  if constexpr (std::same_as<T, float>)
    asm("vcmpps %3, %2, %1, %0" : "=k"(bits) : "v"(a.v), "v"(b.v), "i"(Predicate));
  else if constexpr (std::same_as<T, double>)
    asm("vcmppd %3, %2, %1, %0" : "=k"(bits) : "v"(a.v), "v"(b.v), "i"(Predicate));
  else if constexpr (std::same_as<T, std::int32_t>)
    asm("vpcmpd %3, %2, %1, %0" : "=k"(bits) : "v"(a.v), "v"(b.v), "i"(Predicate));
  else
    asm("vpcmpq %3, %2, %1, %0" : "=k"(bits) : "v"(a.v), "v"(b.v), "i"(Predicate));
  if constexpr (W == 16)
    asm("vpmovm2d %1, %0" : "=v"(out.v) : "k"(bits));
  else
    asm("vpmovm2q %1, %0" : "=v"(out.v) : "k"(bits));
}

template <class T, int W>
requires(W * sizeof(T) == 64) [[gnu::target("avx512f")]] inline void select_lanes(Pack<T, W>& out, const Mask<int{sizeof(T)}, W>& m,
                                                                                  const Pack<T, W>& a, const Pack<T, W>& b) {
  auto mask = m.v;
  asm("vpternlogd $0xca, %2, %1, %0" : "+v"(mask) : "v"(a.v), "v"(b.v));
  out.v = reinterpret_cast<typename Pack<T, W>::Vector>(mask);
}
#endif

template <int Predicate, class T, int W>
[[gnu::always_inline]] inline Mask<int{sizeof(T)}, W> compare(const Pack<T, W>& a, const Pack<T, W>& b) {
  Mask<int{sizeof(T)}, W> out;
  compare_lanes<Predicate>(out, a, b);
  return out;
}

}  // namespace detail

// The bits of each lane as a signed integer, and back.
template <class T, int W>
[[gnu::always_inline]] inline Pack<bits_t<T>, W> to_bits(const Pack<T, W>& a) {
  return Pack<bits_t<T>, W>(reinterpret_cast<typename Pack<bits_t<T>, W>::Vector>(a.v));
}
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> from_bits(const Pack<bits_t<T>, W>& a) {
  return Pack<T, W>(reinterpret_cast<typename Pack<T, W>::Vector>(a.v));
}

// Each lane converted to U by the rules of static_cast.
template <class U, class T, int W>
[[gnu::always_inline]] inline Pack<U, W> convert(const Pack<T, W>& a) {
  if constexpr (std::same_as<T, U>)
    return a;
  else
    return Pack<U, W>(__builtin_convertvector(a.v, typename Pack<U, W>::Vector));
}

namespace detail {

template <int First, class T, int W, int... Lane>
[[gnu::always_inline]] inline Pack<T, int{sizeof...(Lane)}> lanes_from(const Pack<T, W>& a, std::integer_sequence<int, Lane...>) {
  return Pack<T, int{sizeof...(Lane)}>(__builtin_shufflevector(a.v, a.v, (First + Lane)...));
}

}  // namespace detail

// The first and the second half of the lanes.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W / 2> low_half(const Pack<T, W>& a) {
  return detail::lanes_from<0>(a, std::make_integer_sequence<int, W / 2>());
}
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W / 2> high_half(const Pack<T, W>& a) {
  return detail::lanes_from<W / 2>(a, std::make_integer_sequence<int, W / 2>());
}
// The two halves together again.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, 2 * W> join_halves(const Pack<T, W>& low, const Pack<T, W>& high) {
  Pack<T, 2 * W> out;
  [&]<int... Lane>(std::integer_sequence<int, Lane...>) __attribute__((always_inline)) {
    out.v = __builtin_shufflevector(low.v, high.v, Lane...);
  }
  (std::make_integer_sequence<int, 2 * W>());
  return out;
}

// Is there a lane that says yes; do all say yes.
template <int Bytes, int W>
[[gnu::always_inline]] inline bool any(const Mask<Bytes, W>& m) {
  if constexpr (Bytes * W > 16) {
    const Pack<typename Mask<Bytes, W>::Lane, W> lanes(m.v);
    return any(Mask<Bytes, W / 2>((low_half(lanes) | high_half(lanes)).v));
  } else {
    bool found = false;
    for (int i = 0; i < W; ++i) found |= m[i];
    return found;
  }
}
template <int Bytes, int W>
[[gnu::always_inline]] inline bool all(const Mask<Bytes, W>& m) {
  return !any(~m);
}

// The bits of each lane moved down, zeros coming in.
template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> shift_down(const Pack<T, W>& a, int count) {
  using Unsigned [[gnu::vector_size(W * int{sizeof(T)})]] = std::make_unsigned_t<T>;
  return Pack<T, W>(reinterpret_cast<typename Pack<T, W>::Vector>(reinterpret_cast<Unsigned>(a.v) >> count));
}

}  // namespace minitorch::kernels
