// map and map_broadcast against plain loops: lengths around the vectors, mixed types, several outputs, every way to broadcast.
// SPDX-License-Identifier: MIT
#include <tuple>
#include <vector>

#include <minitorch/kernels/map.hpp>
#include <minitorch/kernels/map_broadcast.hpp>
#include <tests/catch.hpp>
#include <tests/kernels/paths.hpp>

namespace mt = minitorch;
namespace k = minitorch::kernels;

namespace {

template <class T>
std::vector<T> count_up(std::int64_t n, int modulus = 1 << 20) {
  std::vector<T> x;
  for (std::int64_t i = 0; i < n; ++i) x.push_back(static_cast<T>(static_cast<float>(i % modulus)));
  return x;
}

}  // namespace

TEST_CASE("a map of any length equals the loop, and writes nothing behind its end") {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    for (std::int64_t n : {0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 1000, 70000}) {
      const auto a = count_up<float>(n), b = count_up<float>(n, 7);
      std::vector<float> c(static_cast<std::size_t>(n + 1), -7.0f);
      k::map(
          n, [](auto x, auto y) { return 2.0 * x + y - 1; }, c.data(), a.data(), b.data());
      bool equal = c.back() == -7.0f;
      for (std::size_t i = 0; i < a.size(); ++i) equal = equal && c[i] == 2 * a[i] + b[i] - 1;
      CHECK(equal);
      auto in_place = a;
      k::map(
          n, [](auto x) { return x * x; }, in_place.data(), in_place.data());
      for (std::size_t i = 0; i < a.size(); ++i) equal = equal && in_place[i] == a[i] * a[i];
      CHECK(equal);
    }
  }
}

TEST_CASE("arrays of different types meet in the widest, and masks select") {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    const std::int64_t n = 99;
    const auto h = count_up<mt::half>(n, 50);
    const auto f = count_up<float>(n);
    const auto d = count_up<double>(n, 11);
    std::vector<char> bits;
    for (std::int64_t i = 0; i < n; ++i) bits.push_back(i % 3 == 0);
    const bool* mask = reinterpret_cast<const bool*>(bits.data());
    std::vector<mt::bfloat16> sum(static_cast<std::size_t>(n));
    std::vector<double> product(sum.size());
    std::vector<float> chosen(sum.size());
    k::map(
        n, [](auto x, auto y, auto z) { return std::tuple(x + y, x * y + 0.25 * z); }, std::tuple(sum.data(), product.data()), h.data(),
        d.data(), f.data());
    k::map(
        n, [](auto m, auto x, auto y) { return select(m, x, y); }, chosen.data(), mask, f.data(), h.data());
    std::vector<char> greater(sum.size());
    k::map(
        n, [](auto x, auto y) { return (x > y) | !(x < 20); }, reinterpret_cast<bool*>(greater.data()), f.data(), h.data());
    bool equal = true;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const auto x = static_cast<float>(h[i]);
      equal = equal && sum[i] == static_cast<mt::bfloat16>(x + static_cast<float>(d[i])) &&
              product[i] == static_cast<double>(x) * d[i] + 0.25 * static_cast<double>(f[i]);
      equal = equal && chosen[i] == (bits[i] ? f[i] : x) && static_cast<bool>(greater[i]) == (f[i] > x || !(f[i] < 20));
    }
    CHECK(equal);
    std::vector<std::int64_t> indices = {1, -2, 3, std::int64_t{1} << 60, 5};
    k::map(
        5, [](auto x) { return x + 1; }, indices.data(), indices.data());
    CHECK(indices == std::vector<std::int64_t>{2, -1, 4, (std::int64_t{1} << 60) + 1, 6});
  }
}

TEST_CASE("map_broadcast equals the loop for every pattern of repeated dimensions") {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    for (const mt::Shape& shape : {mt::Shape{}, mt::Shape{1}, mt::Shape{2, 3}, mt::Shape{70, 65}, mt::Shape{5, 4, 7}, mt::Shape{3, 2, 300},
                                   mt::Shape{2, 3, 2, 5}, mt::Shape{300, 300}, mt::Shape{0, 3}}) {
      const std::int64_t n = shape.numel();
      const auto a = count_up<float>(n);
      const auto b = count_up<double>(n, 1 << 15);
      for (int pattern = 0; pattern < 1 << shape.rank(); ++pattern) {
        mt::Shape own = shape;
        for (int d = 0; d < shape.rank(); ++d)
          if ((pattern >> d & 1) != 0) own[d] = 1;
        const auto left = k::broadcast_operand(a.data(), shape);
        const auto right = k::broadcast_operand(b.data(), own);
        const auto strides = k::broadcast_strides(own, shape);
        std::vector<float> c(static_cast<std::size_t>(n));
        k::map_broadcast(
            shape, [](auto x, auto y) { return x - y; }, c.data(), left, right);
        bool equal = true;
        for (std::int64_t i = 0; i < n; ++i) {
          std::int64_t rest = i, at = 0;
          for (int d = shape.rank() - 1; d >= 0; --d) {
            at += rest % shape[d] * strides[static_cast<std::size_t>(d)];
            rest /= shape[d];
          }
          equal = equal && c[static_cast<std::size_t>(i)] ==
                               static_cast<float>(static_cast<double>(a[static_cast<std::size_t>(i)]) - b[static_cast<std::size_t>(at)]);
        }
        INFO("pattern " << pattern << " of rank " << shape.rank());
        CHECK(equal);
      }
    }
  }
}

TEST_CASE("map_broadcast walks a transposed operand") {
  const mt::Shape shape{40, 50};
  const auto a = count_up<float>(2000);
  std::vector<float> c(2000);
  k::map_broadcast(
      shape, [](auto x) { return x; }, c.data(), k::Operand<float>{a.data(), {1, 40}});
  bool equal = true;
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t j = 0; j < 50; ++j) equal = equal && c[i * 50 + j] == a[j * 40 + i];
  CHECK(equal);
}

TEST_CASE("a map gives the same bits by any number of threads") {
  const std::int64_t n = 300000;
  const auto a = count_up<float>(n);
  const auto run = [&](int threads) {
    mt::set_num_threads(threads);
    std::vector<float> c(static_cast<std::size_t>(n));
    k::map(
        n, [](auto x) { return x / (x + 3.0) - 0.1 * x; }, c.data(), a.data());
    return c;
  };
  const auto one = run(1), three = run(3);
  mt::set_num_threads(1);
  CHECK(one == three);
}

TEST_CASE("a path is limited by name, and not raised beyond the machine") {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    CHECK(k::isa() == isa);
  }
  CHECK(k::limit_isa(static_cast<k::Isa>(k::isa_names.size() - 1)) == paths().back());
}
