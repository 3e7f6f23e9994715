// Philox against its published vectors; uniform, normal and dropout on every path, in slices, by any number of threads.
// SPDX-License-Identifier: MIT
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include <minitorch/kernels/random.hpp>
#include <tests/catch.hpp>
#include <tests/kernels/paths.hpp>

namespace mt = minitorch;
namespace k = minitorch::kernels;

namespace {

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T, class Fill>
std::vector<T> filled(const k::Window& window, Fill fill) {
  std::vector<T> out(static_cast<std::size_t>(window.local.numel()));
  fill(window, out.data());
  return out;
}

// What every fill must satisfy: the same bits on each path, with each number of threads, and in each slice.
template <class T, class Fill>
void check_fill(Fill fill) {
  const mt::Shape whole{5, 30, 123};
  std::vector<T> first;
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    for (int threads : {1, 2, 3}) {
      mt::set_num_threads(threads);
      const auto all = filled<T>(k::Window::whole(whole), fill);
      if (first.empty()) first = all;
      CHECK(same_bits(all, first));
    }
    mt::set_num_threads(1);
    const k::Window slice{{1, 7, 11}, {3, 20, 70}, whole};
    const auto part = filled<T>(slice, fill);
    bool equal = true;
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 20; ++j)
        for (std::int64_t l = 0; l < 70; ++l) {
          const T a = part[static_cast<std::size_t>((i * 20 + j) * 70 + l)],
                  b = first[static_cast<std::size_t>(((i + 1) * 30 + j + 7) * 123 + l + 11)];
          equal = equal && std::memcmp(&a, &b, sizeof(T)) == 0;
        }
    CHECK(equal);
    const k::Window rows{{2, 0, 0}, {2, 30, 123}, whole};
    const auto middle = filled<T>(rows, fill);
    CHECK(std::memcmp(middle.data(), first.data() + 2 * 30 * 123, middle.size() * sizeof(T)) == 0);
  }
}

}  // namespace

TEST_CASE("Philox 4x32-10 gives the known answers of Random123") {
  const auto block = [](std::array<std::uint64_t, 4> counter, std::uint64_t key0, std::uint64_t key1) {
    mt::philox(counter, key0 | key1 << 32);
    return counter;
  };
  using Words = std::array<std::uint64_t, 4>;
  constexpr std::uint64_t ones = 0xffffffff;
  CHECK(block({0, 0, 0, 0}, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(block({ones, ones, ones, ones}, ones, ones) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("RN03 random fills have the same bits on each path, in each slice, by any number of threads") {
  const k::RandomKey key{42, 7};
  check_fill<float>([&](const k::Window& w, float* out) { k::fill_uniform(w, key, -0.3, 0.7, out); });
  check_fill<double>([&](const k::Window& w, double* out) { k::fill_uniform(w, key, -0.3, 0.7, out); });
  check_fill<mt::half>([&](const k::Window& w, mt::half* out) { k::fill_uniform(w, key, 0, 1, out); });
  check_fill<float>([&](const k::Window& w, float* out) { k::fill_normal(w, key, 0.1, 0.02, out); });
  check_fill<double>([&](const k::Window& w, double* out) { k::fill_normal(w, key, 0.1, 0.02, out); });
  check_fill<mt::bfloat16>([&](const k::Window& w, mt::bfloat16* out) { k::fill_normal(w, key, 0, 1, out); });
  check_fill<float>([&](const k::Window& w, float* out) {
    for (std::int64_t i = 0; i < w.local.numel(); ++i) out[i] = 3.0f;
    k::dropout(w, key, 0.3, out, out);
  });
  check_fill<double>([&](const k::Window& w, double* out) {
    for (std::int64_t i = 0; i < w.local.numel(); ++i) out[i] = 3.0;
    k::dropout(w, key, 0.3, out, out);
  });
}

TEST_CASE("moments of uniform and normal numbers, and how many a dropout keeps") {
  constexpr std::int64_t n = 1 << 18;
  const auto moments = [&](const auto& x) {
    std::array<double, 4> m{};
    for (auto v : x)
      for (std::size_t p = 0; p < 4; ++p) m[p] += std::pow(static_cast<double>(v), static_cast<double>(p + 1)) / static_cast<double>(n);
    return m;
  };
  const k::Window w = k::Window::whole({n});
  for (std::uint64_t seed : {1u, 2u}) {
    const auto check_uniform = [](std::array<double, 4> m) {
      CHECK(m[0] == Approx(0.5).margin(0.003));
      CHECK(m[1] == Approx(1.0 / 3).margin(0.003));
      CHECK(m[3] == Approx(0.2).margin(0.003));
    };
    const auto check_normal = [](std::array<double, 4> m) {
      CHECK(m[0] == Approx(0).margin(0.008));
      CHECK(m[1] == Approx(1).margin(0.012));
      CHECK(m[2] == Approx(0).margin(0.03));
      CHECK(m[3] == Approx(3).margin(0.1));
    };
    const k::RandomKey key{seed, 3};
    check_uniform(moments(filled<float>(w, [&](const k::Window& v, float* out) { k::fill_uniform(v, key, 0, 1, out); })));
    check_uniform(moments(filled<double>(w, [&](const k::Window& v, double* out) { k::fill_uniform(v, key, 0, 1, out); })));
    check_normal(moments(filled<float>(w, [&](const k::Window& v, float* out) { k::fill_normal(v, key, 0, 1, out); })));
    check_normal(moments(filled<double>(w, [&](const k::Window& v, double* out) { k::fill_normal(v, key, 0, 1, out); })));
    const std::vector<float> ones(n, 1.0f);
    for (float p : {0.0f, 0.1f, 0.5f, 1.0f}) {
      const auto kept = filled<float>(w, [&](const k::Window& v, float* out) { k::dropout(v, key, double{p}, ones.data(), out); });
      CHECK(moments(kept)[0] == Approx(p < 1 ? 1 : 0).margin(0.01));
      if (p == 0) CHECK(kept == ones);
    }
  }
}

TEST_CASE("uniform numbers of narrow types stay below 1") {
  const auto check = [](auto zero) {
    using T = decltype(zero);
    const auto x = filled<T>(k::Window::whole({1 << 16}), [](const k::Window& w, T* out) { k::fill_uniform(w, {5, 6}, 0, 1, out); });
    bool below = true;
    for (T v : x) below = below && static_cast<float>(v) < 1 && static_cast<float>(v) >= 0;
    CHECK(below);
  };
  check(mt::half());
  check(mt::bfloat16());
}
