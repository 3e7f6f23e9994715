// Reductions against plain loops on every path: rows and columns, the four scalars, NaN, long sums, the number of threads.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <vector>

#include <minitorch/kernels/reduce.hpp>
#include <tests/catch.hpp>
#include <tests/kernels/paths.hpp>

namespace mt = minitorch;
namespace k = minitorch::kernels;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// Integers small enough for every sum of this file to be exact.
template <class T>
void check_shapes() {
  for (std::int64_t outer : {1, 3}) {
    for (std::int64_t n : {0, 1, 3, 7, 64, 300, 40000}) {
      for (std::int64_t inner : {1, 2, 5, 16, 33, 600}) {
        if (outer * n * inner > 400000) continue;
        const auto results = static_cast<std::size_t>(outer * inner);
        std::vector<T> x;
        for (std::int64_t i = 0; i < outer * n * inner; ++i) x.push_back(static_cast<T>(static_cast<float>(i * 7919 % 37 - 15)));
        std::vector<double> sum(results), squares(results), product(results);
        std::vector<T> max(results);
        std::vector<float> min(results);
        std::vector<std::int64_t> first(results);
        k::reduce<k::Sum>(outer, n, inner, x.data(), sum.data());
        k::reduce<k::SumSquares>(outer, n, inner, x.data(), squares.data());
        k::reduce<k::Product>(outer, (std::min<std::int64_t>)(n, 7), inner, x.data(), product.data());
        k::reduce<k::Max>(outer, n, inner, x.data(), max.data());
        k::reduce<k::Min>(outer, n, inner, x.data(), min.data());
        if (n > 0) k::arg_reduce<k::Max>(outer, n, inner, x.data(), first.data());
        bool right = true;
        for (std::int64_t o = 0; o < outer; ++o)
          for (std::int64_t j = 0; j < inner; ++j) {
            double s = 0, q = 0, p = 1, high = -INFINITY, low = INFINITY;
            std::int64_t at = 0;
            for (std::int64_t i = 0; i < n; ++i) {
              const double v = static_cast<double>(x[static_cast<std::size_t>((o * n + i) * inner + j)]);
              s += v, q += v * v;
              if (v > high) high = v, at = i;
              low = (std::min)(low, v);
            }
            const std::int64_t few = (std::min<std::int64_t>)(n, 7);
            for (std::int64_t i = 0; i < few; ++i) p *= static_cast<double>(x[static_cast<std::size_t>((o * few + i) * inner + j)]);
            const auto r = static_cast<std::size_t>(o * inner + j);
            right = right && sum[r] == s && squares[r] == q && product[r] == p && static_cast<double>(max[r]) == high &&
                    static_cast<double>(min[r]) == low;
            right = right && (n == 0 || first[r] == at);
          }
        INFO("[" << outer << ", " << n << ", " << inner << "], path " << k::isa_name(k::isa()));
        CHECK(right);
      }
    }
  }
}

template <class T>
T sum_of(const std::vector<T>& x) {
  T out;
  k::reduce<k::Sum>(1, static_cast<std::int64_t>(x.size()), 1, x.data(), &out);
  return out;
}

template <class T>
double mean_of(const std::vector<T>& x) {
  double out;
  k::reduce<k::Sum>(1, static_cast<std::int64_t>(x.size()), 1, x.data(), &out);
  return out / static_cast<double>(x.size());
}

}  // namespace

TEST_CASE("reductions of rows and columns equal the loop") {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    check_shapes<float>();
    check_shapes<double>();
    check_shapes<mt::half>();
    check_shapes<mt::bfloat16>();
  }
}

TEST_CASE("NN01 NaN propagates through max, min and argmax, wherever it stands") {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    for (std::int64_t n : {3, 50}) {
      for (std::int64_t at = 0; at < n; ++at) {
        std::vector<double> x;
        for (std::int64_t i = 0; i < n; ++i) x.push_back(static_cast<double>(i));
        x[static_cast<std::size_t>(at)] = not_a_number;
        double max = 0, min = 0;
        std::int64_t first = -1;
        k::reduce<k::Max>(1, n, 1, x.data(), &max);
        k::reduce<k::Min>(1, n, 1, x.data(), &min);
        k::arg_reduce<k::Max>(1, n, 1, x.data(), &first);
        CHECK((std::isnan(max) && std::isnan(min) && first == at));
      }
    }
  }
}

TEST_CASE("AC02 HP12 HP13 HP14 HP15 long sums of narrow and inexact numbers") {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    CHECK(sum_of(std::vector<float>(1000000, 0.1f)) == 100000.0015f);
    CHECK(std::isinf(static_cast<float>(sum_of(std::vector<mt::half>(70000, mt::half(1))))));
    CHECK(mean_of(std::vector<mt::half>(70000, mt::half(1))) == 1);
    CHECK(static_cast<float>(sum_of(std::vector<mt::half>(4096, mt::half(1)))) == 4096);
    CHECK(mean_of(std::vector<mt::bfloat16>(4096, mt::bfloat16(1))) == 1);
    CHECK(mean_of(std::vector<mt::half>(3, mt::half(40000))) == 40000);
    CHECK(mean_of(std::vector<float>(3, 3e38f)) == static_cast<double>(3e38f));
  }
}

TEST_CASE("AC01 a hundred million tenths") {
  const std::vector<float> x(100000000, 0.1f);
  CHECK(sum_of(x) == 10000000.149f);
}

TEST_CASE("AC04 AC05 squares of floats neither overflow nor vanish") {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    double large = 0, small = 0;
    k::reduce<k::SumSquares>(1, 100, 1, std::vector<float>(100, 1e20f).data(), &large);
    k::reduce<k::SumSquares>(1, 4, 1, std::vector<float>(4, 1e-30f).data(), &small);
    CHECK(std::sqrt(large) == Approx(1e21).epsilon(1e-7));
    CHECK(std::sqrt(small) == Approx(2e-30).epsilon(1e-7));
  }
}

TEST_CASE("AC07 a reduction gives the same bits by any number of threads") {
  std::vector<float> x;
  for (int i = 0; i < 300000; ++i) x.push_back(std::sin(static_cast<float>(i)));
  const auto run = [&](int threads) {
    mt::set_num_threads(threads);
    std::vector<double> out(1 + 30 + 1000);
    k::reduce<k::Sum>(1, 300000, 1, x.data(), out.data());
    k::reduce<k::Sum>(1, 10000, 30, x.data(), out.data() + 1);
    k::reduce<k::Sum>(1000, 300, 1, x.data(), out.data() + 31);
    return out;
  };
  const auto one = run(1), three = run(3);
  mt::set_num_threads(1);
  CHECK(one == three);
}
