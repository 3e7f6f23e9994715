// Products: against a naive reference in every type, form and odd size; empty sums; bits that depend on the row and column alone.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <tests/catch.hpp>

#include <minitorch/core/parallel_for.hpp>
#include <minitorch/kernels/gemm.hpp>

namespace mt = minitorch;
using mt::bfloat16;
using mt::half;
using mt::kernels::gemm;
using mt::kernels::Isa;
using mt::kernels::Matrix;
using std::int64_t;

namespace {

const auto all_isas = {Isa::baseline, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx_bf16};

struct IsaLimit {
  explicit IsaLimit(Isa isa) : taken(mt::kernels::limit_isa(isa)) {}
  ~IsaLimit() { mt::kernels::limit_isa(Isa::amx_bf16); }
  Isa taken;
};

struct Threads {
  explicit Threads(int count) : before(mt::num_threads()) { mt::set_num_threads(count); }
  ~Threads() { mt::set_num_threads(before); }
  int before;
};

// A batch of rows x columns matrices with padding between rows and between matrices, as it lies in memory.
template <class T>
struct Stored {
  Stored(int64_t batch, int64_t rows, int64_t columns, bool is_transposed, int64_t padding)
      : ld((is_transposed ? rows : columns) + padding),
        stride(ld * (is_transposed ? columns : rows) + padding),
        transposed(is_transposed),
        numbers(static_cast<std::size_t>(batch * stride), T(std::numeric_limits<float>::quiet_NaN())) {}
  T& at(int64_t b, int64_t i, int64_t j) { return numbers[static_cast<std::size_t>(b * stride + (transposed ? j * ld + i : i * ld + j))]; }
  Matrix<const T> in() const { return {numbers.data(), ld, transposed, stride}; }
  Matrix<T> out() { return {numbers.data(), ld, transposed, stride}; }

  int64_t ld, stride;
  bool transposed;
  std::vector<T> numbers;
};

struct Form {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool ta = false, tb = false, tc = false, accumulate = false;
  int64_t padding = 0;
};

std::string text(const Form& f) {
  return mt::concat(f.batch, " x ", f.m, " x ", f.n, " x ", f.k, f.ta ? " ta" : "", f.tb ? " tb" : "", f.tc ? " tc" : "",
                    f.accumulate ? " accumulate" : "", " padding ", f.padding);
}

template <class To>
To rounded(double x) {
  return static_cast<To>(static_cast<mt::compute_t<To>>(x));
}

template <class Narrow, class T>
auto seen(T x) {  // what a product in Narrow sees of a number
  return static_cast<std::conditional_t<std::is_same_v<Narrow, double>, long double, double>>(static_cast<Narrow>(x));
}

// The product against sums in a wider type. Integers must be exact; numbers in [-1, 1] are within the bound for a sum in the sum's type
// and one rounding to C.
template <class A, class B, class C>
void check(const Form& f, bool integers, unsigned seed) {
  using Narrow = std::conditional_t<mt::is_narrow<A>, A, B>;
  using Reference = decltype(seen<Narrow>(A()));
  std::mt19937 random(seed);
  const auto draw = [&] {
    if (integers) return static_cast<double>(static_cast<int>(random() % 7) - 3);
    return std::uniform_real_distribution<double>(-1, 1)(random);
  };
  Stored<A> a(f.batch, f.m, f.k, f.ta, f.padding);
  Stored<B> b(f.batch, f.k, f.n, f.tb, f.padding);
  Stored<C> c(f.batch, f.m, f.n, f.tc, f.padding);
  for (int64_t x = 0; x < f.batch; ++x) {
    for (int64_t i = 0; i < f.m; ++i)
      for (int64_t p = 0; p < f.k; ++p) a.at(x, i, p) = rounded<A>(draw());
    for (int64_t p = 0; p < f.k; ++p)
      for (int64_t j = 0; j < f.n; ++j) b.at(x, p, j) = rounded<B>(draw());
    if (f.accumulate)
      for (int64_t i = 0; i < f.m; ++i)
        for (int64_t j = 0; j < f.n; ++j) c.at(x, i, j) = rounded<C>(draw());
  }
  Stored<C> before = c;
  gemm(f.batch, f.m, f.n, f.k, a.in(), b.in(), c.out(), f.accumulate);

  std::vector<Reference> a_seen, b_seen;
  for (int64_t x = 0; x < f.batch; ++x) {
    for (int64_t i = 0; i < f.m; ++i)
      for (int64_t p = 0; p < f.k; ++p) a_seen.push_back(seen<Narrow>(a.at(x, i, p)));
    for (int64_t j = 0; j < f.n; ++j)
      for (int64_t p = 0; p < f.k; ++p) b_seen.push_back(seen<Narrow>(b.at(x, p, j)));
  }
  const Reference eps_sum = std::is_same_v<C, double> ? 0x1p-53 : 0x1p-24;
  const Reference eps_out = std::is_same_v<C, double> ? 0 : std::is_same_v<C, float> ? 0 : std::is_same_v<C, half> ? 0x1p-11 : 0x1p-8;
  int64_t wrong = 0;
  std::string first;
  for (int64_t x = 0; x < f.batch; ++x)
    for (int64_t i = 0; i < f.m; ++i)
      for (int64_t j = 0; j < f.n; ++j) {
        Reference sum = 0, size = 0;
        for (int64_t p = 0; p < f.k; ++p) {
          const Reference product =
              a_seen[static_cast<std::size_t>((x * f.m + i) * f.k + p)] * b_seen[static_cast<std::size_t>((x * f.n + j) * f.k + p)];
          sum += product;
          size += std::fabs(product);
        }
        if (f.accumulate) {
          const auto old = static_cast<Reference>(before.at(x, i, j));
          sum += old;
          size += std::fabs(old);
        }
        const auto got = static_cast<Reference>(c.at(x, i, j));
        const Reference bound = static_cast<Reference>(f.k + 2) * eps_sum * size + eps_out * std::fabs(sum) * 2 + 1e-7 * eps_out;
        const bool right = integers ? got == static_cast<Reference>(rounded<C>(static_cast<double>(sum))) : std::fabs(got - sum) <= bound;
        if (!right && wrong++ == 0)
          first = mt::concat("(", x, ", ", i, ", ", j, "): ", static_cast<double>(got), " instead of ", static_cast<double>(sum));
        before.at(x, i, j) = c.at(x, i, j);
      }
  INFO(text(f) << (integers ? " integers" : " random"));
  INFO(first);
  REQUIRE(wrong == 0);
  REQUIRE(std::memcmp(before.numbers.data(), c.numbers.data(), c.numbers.size() * sizeof(C)) == 0);  // nothing beside c was written
}

template <class A, class B, class C>
void check_forms(Form f, unsigned seed) {
  for (int bits = 0; bits < 16; ++bits) {
    f.ta = (bits & 1) != 0;
    f.tb = (bits & 2) != 0;
    f.tc = (bits & 4) != 0;
    f.accumulate = (bits & 8) != 0;
    check<A, B, C>(f, true, seed);
    check<A, B, C>(f, false, seed);
  }
}

template <class A, class B, class C>
void check_sizes() {
  const int64_t sizes[] = {0, 1, 2, 3, 5, 7, 8, 13, 14, 16, 17, 29, 31, 33, 47, 64, 67};
  std::mt19937 random(7);
  const auto any = [&] { return sizes[random() % std::size(sizes)]; };
  for (unsigned round = 0; round < 16; ++round)
    check_forms<A, B, C>({.batch = 1 + static_cast<int64_t>(random() % 3),
                          .m = any(),
                          .n = any(),
                          .k = any(),
                          .padding = static_cast<int64_t>(random() % 4)},
                         round);
  check_forms<A, B, C>({.m = 17, .n = 35, .k = 1041, .padding = 3}, 1);  // several blocks of k
  check_forms<A, B, C>({.m = 3, .n = 10, .k = 1601}, 2);
  check<A, B, C>({.m = 420, .n = 19, .k = 530}, false, 3);                                                    // several blocks of rows
  check<A, B, C>({.m = 5, .n = 2100, .k = 9}, true, 4);                                                       // and of columns
  for (const int64_t k : {33, 65, 96, 131, 200, 1024}) check<A, B, C>({.m = 101, .n = 70, .k = k}, true, 5);  // several of every tile
}

}  // namespace

#define EVERY_PRODUCT                                                                                                                      \
  (std::tuple<double, double, double>), (std::tuple<float, float, float>), (std::tuple<half, half, half>),                                 \
      (std::tuple<half, half, float>), (std::tuple<half, float, half>), (std::tuple<float, half, half>), (std::tuple<half, float, float>), \
      (std::tuple<float, half, float>), (std::tuple<bfloat16, bfloat16, bfloat16>), (std::tuple<bfloat16, bfloat16, float>),               \
      (std::tuple<bfloat16, float, bfloat16>), (std::tuple<float, bfloat16, bfloat16>), (std::tuple<bfloat16, float, float>),              \
      (std::tuple<float, bfloat16, float>)

TEMPLATE_TEST_CASE("products of every type, form and size are right on every path", "", EVERY_PRODUCT) {
  using A = std::tuple_element_t<0, TestType>;
  using B = std::tuple_element_t<1, TestType>;
  using C = std::tuple_element_t<2, TestType>;
  for (const Isa isa : all_isas) {
    const IsaLimit limit(isa);
    if (limit.taken != isa) continue;
    INFO(mt::kernels::isa_name(isa));
    check_sizes<A, B, C>();
  }
}

namespace {

// Random numbers that every type keeps as they are.
template <class T>
std::vector<T> numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(T(static_cast<float>(static_cast<int>(random() % 511) - 255) / 64));
  return out;
}

template <class T>
void require_same_bits(const T* got, const T* wanted, int64_t count) {
  REQUIRE(std::memcmp(got, wanted, static_cast<std::size_t>(count) * sizeof(T)) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("AC07 an element depends on k, its row and its column alone", "", double, float, half, bfloat16) {
  using T = TestType;
  for (const Isa isa : all_isas) {
    const IsaLimit limit(isa);
    if (limit.taken != isa) continue;
    INFO(mt::kernels::isa_name(isa));
    for (const int64_t k : {1, 7, 64, 129, 700}) {
      INFO("k = " << k);
      const int64_t m = 150, n = 110;
      const auto a = numbers<T>(m * k, 1), b = numbers<T>(k * n, 2);
      std::vector<T> whole(static_cast<std::size_t>(m * n));
      gemm(1, m, n, k, Matrix<const T>{a.data(), k}, Matrix<const T>{b.data(), n}, Matrix<T>{whole.data(), n}, false);
      const auto at = [&](int64_t i, int64_t j) { return whole.data() + i * n + j; };

      std::vector<T> part(static_cast<std::size_t>(m * n));
      for (const auto& [i, j, rows, columns] :
           {std::tuple{0, 0, 1, 1}, {149, 109, 1, 1}, {77, 3, 1, 100}, {13, 50, 137, 1}, {5, 31, 17, 33}, {0, 96, 150, 14}}) {
        INFO(mt::concat("rows ", i, " + ", rows, ", columns ", j, " + ", columns));
        gemm(1, rows, columns, k, Matrix<const T>{a.data() + i * k, k}, Matrix<const T>{b.data() + j, n}, Matrix<T>{part.data(), columns},
             false);
        for (int64_t r = 0; r < rows; ++r) require_same_bits(part.data() + r * columns, at(i + r, j), columns);
      }

      INFO("transposed copies, in a batch that shares b");
      std::vector<T> at_(static_cast<std::size_t>(m * k)), bt(static_cast<std::size_t>(k * n)), batch(static_cast<std::size_t>(m * n));
      for (int64_t i = 0; i < m; ++i)
        for (int64_t p = 0; p < k; ++p) at_[static_cast<std::size_t>(p * m + i)] = a[static_cast<std::size_t>(i * k + p)];
      for (int64_t p = 0; p < k; ++p)
        for (int64_t j = 0; j < n; ++j) bt[static_cast<std::size_t>(j * k + p)] = b[static_cast<std::size_t>(p * n + j)];
      gemm(1, m, n, k, Matrix<const T>{at_.data(), m, true}, Matrix<const T>{bt.data(), k, true}, Matrix<T>{batch.data(), n}, false);
      require_same_bits(batch.data(), whole.data(), m * n);
      gemm(10, 15, n, k, Matrix<const T>{a.data(), k, false, 15 * k}, Matrix<const T>{b.data(), n},
           Matrix<T>{batch.data(), n, false, 15 * n}, false);
      require_same_bits(batch.data(), whole.data(), m * n);
    }
  }
}

TEMPLATE_TEST_CASE("AC07 bits do not depend on the number of threads", "", double, float, half, bfloat16) {
  using T = TestType;
  for (const auto& [count, m, n, k] :
       {std::tuple{1, 300, 210, 290}, {3, 130, 140, 150}, {1, 2000, 33, 65}, {1, 15, 1500, 300}, {1, 260, 250, 800}}) {
    INFO(mt::concat(count, " x ", m, " x ", n, " x ", k));
    const auto a = numbers<T>(int64_t{count} * m * k, 1), b = numbers<T>(int64_t{count} * k * n, 2);
    std::vector<T> wanted;
    for (const int threads : {1, 2, 3, 4}) {
      const Threads setting(threads);
      std::vector<T> c(static_cast<std::size_t>(int64_t{count} * m * n));
      gemm(count, m, n, k, Matrix<const T>{a.data(), k, false, int64_t{m} * k}, Matrix<const T>{b.data(), n, false, int64_t{k} * n},
           Matrix<T>{c.data(), n, false, int64_t{m} * n}, false);
      if (threads == 1) wanted = c;
      require_same_bits(c.data(), wanted.data(), static_cast<int64_t>(c.size()));
    }
  }
}

TEST_CASE("accumulating gives the bits of a product and an addition") {
  for (const Isa isa : all_isas) {
    const IsaLimit limit(isa);
    if (limit.taken != isa) continue;
    for (const int64_t k : {5, 64, 1300}) {
      const int64_t m = 37, n = 51;
      const auto a = numbers<bfloat16>(m * k, 1), b = numbers<bfloat16>(k * n, 2);
      const auto old = numbers<float>(m * n, 3);
      std::vector<float> product(old.size()), sum = old;
      gemm(1, m, n, k, Matrix<const bfloat16>{a.data(), k}, Matrix<const bfloat16>{b.data(), n}, Matrix<float>{product.data(), n}, false);
      gemm(1, m, n, k, Matrix<const bfloat16>{a.data(), k}, Matrix<const bfloat16>{b.data(), n}, Matrix<float>{sum.data(), n}, true);
      for (std::size_t i = 0; i < sum.size(); ++i) REQUIRE(sum[i] == old[i] + product[i]);
      const auto x = numbers<float>(m * k, 1), y = numbers<float>(k * n, 2);
      sum = old;
      gemm(1, m, n, k, Matrix<const float>{x.data(), k}, Matrix<const float>{y.data(), n}, Matrix<float>{product.data(), n}, false);
      gemm(1, m, n, k, Matrix<const float>{x.data(), k}, Matrix<const float>{y.data(), n}, Matrix<float>{sum.data(), n}, true);
      for (std::size_t i = 0; i < sum.size(); ++i) REQUIRE(sum[i] == old[i] + product[i]);
    }
  }
}

TEMPLATE_TEST_CASE("a bias is added before the one rounding", "", double, float, half, bfloat16) {
  using T = TestType;
  using C = mt::compute_t<T>;
  for (const Isa isa : all_isas) {
    const IsaLimit limit(isa);
    for (const int64_t k : {0, 9, 130, 1300}) {
      const int64_t m = 85, n = 53;
      const auto a = numbers<T>(m * k, 1), b = numbers<T>(k * n, 2);
      const auto bias = numbers<C>(n, 3);
      std::vector<C> sums(static_cast<std::size_t>(m * n));
      std::vector<T> c(sums.size());
      gemm(1, m, n, k, Matrix<const T>{a.data(), k}, Matrix<const T>{b.data(), n}, Matrix<C>{sums.data(), n}, false);
      gemm(1, m, n, k, Matrix<const T>{a.data(), k}, Matrix<const T>{b.data(), n}, Matrix<T>{c.data(), n}, false, bias.data());
      for (std::size_t i = 0; i < c.size(); ++i) REQUIRE(c[i] == static_cast<T>(sums[i] + bias[i % static_cast<std::size_t>(n)]));
    }
  }
}

TEMPLATE_TEST_CASE("ZS03 a product with k = 0 writes zeros", "", double, float, half, bfloat16) {
  using T = TestType;
  for (const Isa isa : all_isas) {
    const IsaLimit limit(isa);
    for (const int64_t m : {2, 100}) {
      const int64_t n = m == 2 ? 3 : 70;
      const auto count = static_cast<std::size_t>(m * n);
      const auto product = [&](std::vector<T>& c, bool accumulate) {
        gemm(1, m, n, 0, Matrix<const T>{nullptr, 0}, Matrix<const T>{nullptr, n}, Matrix<T>{c.data(), n}, accumulate);
      };
      std::vector<T> c(count, std::numeric_limits<T>::quiet_NaN());
      product(c, false);
      for (const T x : c) REQUIRE(static_cast<float>(x) == 0);
      c.assign(count, T(5));
      product(c, true);
      for (const T x : c) REQUIRE(static_cast<float>(x) == 5);
    }
  }
}

TEMPLATE_TEST_CASE("HP11 4,096 products of ones sum to 4,096", "", half, bfloat16) {
  using T = TestType;
  const std::vector<T> ones(4096 * 64, T(1));
  for (const Isa isa : all_isas) {
    const IsaLimit limit(isa);
    for (const int64_t m : {1, 3, 64}) {
      std::vector<T> c(static_cast<std::size_t>(m * m));
      gemm(1, m, m, 4096, Matrix<const T>{ones.data(), 4096}, Matrix<const T>{ones.data(), m}, Matrix<T>{c.data(), m}, false);
      for (const T x : c) REQUIRE(static_cast<float>(x) == 4096);
    }
  }
}

TEST_CASE("what is infinite or not a number stays in its row and column") {
  for (const Isa isa : all_isas) {
    const IsaLimit limit(isa);
    const int64_t m = 19, n = 45, k = 33;
    auto a = numbers<bfloat16>(m * k, 1);
    const auto b = std::vector<bfloat16>(static_cast<std::size_t>(k * n), bfloat16(1));
    a[4 * 33 + 32] = std::numeric_limits<bfloat16>::quiet_NaN();
    a[18 * 33] = std::numeric_limits<bfloat16>::infinity();
    std::vector<float> c(static_cast<std::size_t>(m * n));
    gemm(1, m, n, k, Matrix<const bfloat16>{a.data(), k}, Matrix<const bfloat16>{b.data(), n}, Matrix<float>{c.data(), n}, false);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const float x = c[static_cast<std::size_t>(i * n + j)];
        REQUIRE(std::isnan(x) == (i == 4));
        REQUIRE(std::isinf(x) == (i == 18));
      }
  }
}
