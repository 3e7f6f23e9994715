// Products of matrices: c = a b, in every combination of scalar types, transposed or not, batched.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <minitorch/core/scalar.hpp>
#include <minitorch/kernels/gemm_matrix.hpp>
#include <minitorch/kernels/gemm_threads.hpp>

namespace minitorch::kernels {

namespace detail {

// The type that both operands are rounded to: the narrow one if there is one.
template <class A, class B>
using product_type = std::conditional_t<is_narrow<A>, A, B>;

template <class A, class B, class C>
inline constexpr bool is_product = std::same_as<A, double> || std::same_as<B, double> || std::same_as<C, double>
                                       ? std::same_as<A, B>&& std::same_as<B, C>
                                       : (std::same_as<A, B> || std::same_as<A, float> ||
                                          std::same_as<B, float>)&&(std::same_as<C, float> || std::same_as<C, product_type<A, B>>);

// How an operand becomes what the arithmetic computes with; null when it is that already.
template <class From, class Narrow, class Arithmetic>
constexpr ConvertFunction conversion() {
  using To = typename Arithmetic::Element;
  if constexpr (std::same_as<From, Narrow> && std::same_as<From, To>)
    return nullptr;
  else
    return convert_runs<From, Narrow, To, flushes<Arithmetic>>;
}

template <class Arithmetic, class A, class B, class C>
void multiply_as(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<const A>& a, const Matrix<const B>& b,
                 const Matrix<C>& c, bool accumulate, const typename Arithmetic::Sum* bias) {
  using Sum = typename Arithmetic::Sum;
  using Narrow = product_type<A, B>;
  constexpr std::int64_t as = sizeof(A), bs = sizeof(B), cs = sizeof(C);
  const Problem<Arithmetic> problem{
      .batch = batch,
      .m = m,
      .n = n,
      .k = k,
      .a = {reinterpret_cast<const std::byte*>(a.data), a.transposed ? as : a.ld * as, a.transposed ? a.ld * as : as, as,
            conversion<A, Narrow, Arithmetic>()},
      .b = {reinterpret_cast<const std::byte*>(b.data), b.transposed ? b.ld * bs : bs, b.transposed ? bs : b.ld * bs, bs,
            conversion<B, Narrow, Arithmetic>()},
      .a_batch = a.batch_stride * as,
      .b_batch = b.batch_stride * bs,
      .c = reinterpret_cast<std::byte*>(c.data),
      .c_row = c.ld * cs,
      .c_batch = c.batch_stride * cs,
      .c_element = cs,
      .finish = finish<Sum, C, flushes<Arithmetic>>,
      .round = rounding_function<Arithmetic, C>(k),
      .stores_sums = std::same_as<C, Sum>,
      .bias = bias,
      .add = accumulate,
  };
  multiply<Arithmetic>(problem);
}

}  // namespace detail

// c = a b, or c += a b: a is m x k, b k x n, c m x n, each after its own transposition, for a batch of matrices. double and float
// compute in themselves. When one operand is half or bfloat16, the other (the same or float) is rounded to that type, products are
// summed in float, and c (the same or float) is rounded once. With k = 0 the product is zero.
// Where the processor multiplies bfloat16 itself, subnormal numbers count as zero.
// bias: a number for each column of c, added before rounding; c must not be transposed then.
// An element of c depends on k, on its row of a and its column of b alone: not on m, n, its place, the batch or the threads.
template <class A, class B, class C>
requires detail::is_product<A, B, C>
void gemm(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const A> a, Matrix<const B> b, Matrix<C> c,
          bool accumulate, const compute_t<C>* bias = nullptr) {
  if (batch <= 0 || m <= 0 || n <= 0 || (k <= 0 && accumulate && bias == nullptr)) return;
  const bool one_column = n == 1 && m > 1 && bias == nullptr && c.ld == 1;  // a row is as good, and fills vectors
  if (c.transposed || one_column) {
    c.ld = one_column && !c.transposed ? m : c.ld;
    c.transposed = false;
    a.transposed = !a.transposed;
    b.transposed = !b.transposed;
    return gemm(batch, n, m, k, b, a, c, accumulate);
  }
  if constexpr (std::same_as<C, double>) {
    detail::multiply_as<detail::DoubleArithmetic>(batch, m, n, k, a, b, c, accumulate, bias);
  } else {
    if constexpr (std::same_as<detail::product_type<A, B>, bfloat16>) {
#if defined(__x86_64__)
      if (isa() == Isa::amx_bf16) return detail::multiply_as<detail::AmxArithmetic>(batch, m, n, k, a, b, c, accumulate, bias);
      if (isa() == Isa::avx512_bf16) return detail::multiply_as<detail::Bf16Arithmetic>(batch, m, n, k, a, b, c, accumulate, bias);
#endif
    }
    detail::multiply_as<detail::FloatArithmetic>(batch, m, n, k, a, b, c, accumulate, bias);
  }
}

}  // namespace minitorch::kernels
