// softmax, cross entropy, the norms and embedding against direct formulas in double, on every path and in all four scalars.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <vector>

#include <minitorch/kernels/cross_entropy.hpp>
#include <minitorch/kernels/embedding.hpp>
#include <minitorch/kernels/norm.hpp>
#include <tests/catch.hpp>
#include <tests/kernels/paths.hpp>

namespace mt = minitorch;
namespace k = minitorch::kernels;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double quiet_nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::vector<T> as(const std::vector<double>& x) {
  std::vector<T> out;
  for (double v : x) out.push_back(static_cast<T>(v));
  return out;
}

// A fixed sequence in [-1, 1).
std::vector<double> numbers(std::int64_t n, std::uint64_t state) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out.push_back(static_cast<double>(state >> 40) * 0x1p-23 - 1);
  }
  return out;
}

template <class T>
constexpr double tolerance = std::same_as<T, double>     ? 1e-14
                             : std::same_as<T, float>    ? 1e-6
                             : std::same_as<T, mt::half> ? 1e-3
                                                         : 8e-3;

// |a - b| <= eps * max(1, |b|), NaN equal to NaN.
template <class T>
void check_close(const std::vector<T>& a, const std::vector<double>& b, double eps) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]);
    INFO("element " << i << ": " << x << ", expected " << b[i]);
    CHECK((x == b[i] || (std::isnan(x) && std::isnan(b[i])) || std::abs(x - b[i]) <= eps * (std::max)(1.0, std::abs(b[i]))));
  }
}

template <class Test>
void for_scalars_and_paths(Test test) {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    INFO("path " << k::isa_name(isa));
    test(double{});
    test(float{});
    test(mt::half{});
    test(mt::bfloat16{});
  }
}

std::vector<double> to_double(const auto& x) {
  std::vector<double> out;
  for (auto v : x) out.push_back(static_cast<double>(v));
  return out;
}

template <class T>
std::vector<T> softmaxed(std::vector<double> x) {
  const auto in = as<T>(x);
  std::vector<T> y(x.size());
  k::softmax(1, static_cast<std::int64_t>(x.size()), in.data(), y.data());
  return y;
}

}  // namespace

TEST_CASE("softmax and log_softmax of rows with their gradients") {
  for_scalars_and_paths([]<class T>(T) {
    for (std::int64_t n : {1, 3, 16, 33, 200}) {
      const std::int64_t rows = 5;
      const auto x = as<T>([&] {
        auto v = numbers(rows * n, 1);
        for (double& e : v) e *= 8;
        return v;
      }());
      const auto dy = as<T>(numbers(rows * n, 2));
      const auto size = static_cast<std::size_t>(rows * n);
      std::vector<T> y(size), ly(size), dx(size), ldx(size);
      k::softmax(rows, n, x.data(), y.data());
      k::log_softmax(rows, n, x.data(), ly.data());
      k::softmax_backward(rows, n, y.data(), dy.data(), dx.data());
      k::log_softmax_backward(rows, n, ly.data(), dy.data(), ldx.data());
      std::vector<double> want(size), lwant(size), dwant(size), ldwant(size);
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto at = [&](const std::vector<T>& v, std::int64_t i) {
          return static_cast<double>(v[static_cast<std::size_t>(r * n + i)]);
        };
        double sum = 0, dot = 0, total = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += std::exp(at(x, i));
        for (std::int64_t i = 0; i < n; ++i) dot += at(y, i) * at(dy, i), total += at(dy, i);
        for (std::int64_t i = 0; i < n; ++i) {
          const auto j = static_cast<std::size_t>(r * n + i);
          want[j] = std::exp(at(x, i)) / sum;
          lwant[j] = at(x, i) - std::log(sum);
          dwant[j] = at(y, i) * (at(dy, i) - dot);
          ldwant[j] = at(dy, i) - std::exp(at(ly, i)) * total;
        }
      }
      check_close(y, want, tolerance<T>);
      check_close(ly, lwant, tolerance<T>);
      check_close(dx, dwant, tolerance<T>);
      check_close(ldx, ldwant, tolerance<T>);
    }
  });
}

TEST_CASE("NN06 NN07 NN08 NN13 softmax of infinite and large rows") {
  for_scalars_and_paths([]<class T>(T) {
    check_close(softmaxed<T>({-inf, -inf}), {quiet_nan, quiet_nan}, 0);
    check_close(softmaxed<T>({0, -inf, 1}), {0.26894142136999516, 0, 0.7310585786300049}, tolerance<T>);
    check_close(softmaxed<T>({inf, 0}), {quiet_nan, quiet_nan}, 0);
    const auto x = as<T>({1000, 0, -1000}), dy = as<T>({0, 0, 1});
    std::vector<T> y(3), dx(3);
    k::log_softmax(1, 3, x.data(), y.data());
    check_close(y, {0, -1000, -2000}, tolerance<T>);
    k::log_softmax_backward(1, 3, y.data(), dy.data(), dx.data());
    check_close(dx, {-1, 0, 1}, tolerance<T>);
  });
}

TEST_CASE("NN09 NN11 logsumexp of infinite rows") {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    const std::vector<float> x = as<float>({-inf, -inf, inf, 0, 1, 2});
    std::vector<double> out(3);
    k::logsumexp(3, 2, x.data(), out.data());
    check_close(out, {-inf, inf, 2.3132616875182228}, 1e-7);
  }
}

TEST_CASE("CE01 CE02 CE03 CE04 CE05 CE06 CE08 CE09 cross entropy") {
  for_scalars_and_paths([]<class T>(T) {
    struct Case {
      std::vector<double> x;
      std::vector<std::int64_t> targets;
      double smoothing;
      bool weighted;
      double mean;
      std::vector<double> gradient;  // of the mean; empty: not given
    };
    const std::vector<Case> cases = {
        {{1, 2, 3}, {-100}, 0, false, quiet_nan, {0, 0, 0}},
        {{1, 2, 3, 1, 2, 3},
         {2, -100},
         0,
         false,
         0.4076059644443804,
         {0.09003057317038046, 0.24472847105479764, -0.3347590442251782, 0, 0, 0}},
        {{1, 2, 3}, {0}, 0.1, false, 2.3076059644443803, {-0.8433027601629529, 0.21139513772146432, 0.6319076224414885}},
        {{1, 2, 3, 0, 0, 0}, {0, 1}, 0, true, 1.622209758978618, {}},
        {{1, 2, 3, 0, 0, 0}, {0, 1}, 0.1, true, 1.6070699999549223, {}},
        {{1, 2, 3, 0, 0, 0}, {0, -100}, 0.1, false, 2.3076059644443805, {}},
        {{1000, 0, 0}, {1}, 0, false, 1000, {}},
        {{-inf, 0, 0}, {0}, 0, false, inf, {}},
        {{0, -inf}, {0}, 0, false, 0, {0, 0}},
    };
    const double weights[] = {0.2, 0.3, 0.5};
    for (const Case& c : cases) {
      const auto rows = static_cast<std::int64_t>(c.targets.size());
      const k::CrossEntropy ce{static_cast<std::int64_t>(c.x.size()) / rows, -100, c.smoothing, c.weighted ? weights : nullptr};
      const auto x = as<T>(c.x);
      std::vector<double> loss(c.targets.size()), lse(c.targets.size());
      const double weight = k::target_weight(ce, rows, c.targets.data());
      k::cross_entropy(ce, rows, x.data(), c.targets.data(), loss.data(), lse.data());
      double sum = 0;
      for (double l : loss) sum += l;
      check_close(std::vector<double>{sum / weight}, {c.mean}, std::same_as<T, double> ? 1e-12 : 1e-6);
      if (c.gradient.empty()) continue;
      const std::vector<double> scale(c.targets.size(), 1 / weight);
      std::vector<T> dx(x.size());
      k::cross_entropy_backward(ce, rows, x.data(), c.targets.data(), lse.data(), scale.data(), dx.data());
      check_close(dx, c.gradient, std::same_as<T, double> ? 1e-12 : tolerance<T>);
    }
  });
}

TEST_CASE("CE07 a target that is no class is refused") {
  const k::CrossEntropy ce{3};
  for (std::int64_t target : {3, -1}) CHECK_THROWS_AS(k::target_weight(ce, 1, &target), mt::ArgumentError);
}

TEST_CASE("gradient of cross entropy, smoothed and weighted, by finite differences") {
  const std::int64_t rows = 4, n = 37;
  std::vector<double> weights;
  for (double w : numbers(n, 9)) weights.push_back(w + 1.5);
  const k::CrossEntropy ce{n, 2, 0.2, weights.data()};
  const std::vector<std::int64_t> targets = {0, 36, 2, 17};
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    auto x = numbers(rows * n, 4);
    std::vector<double> lse(4), loss(4), dx(x.size());
    const std::vector<double> scale = {1, 2, 3, 4};
    const auto total = [&] {
      k::cross_entropy(ce, rows, x.data(), targets.data(), loss.data(), lse.data());
      return loss[0] * scale[0] + loss[1] * scale[1] + loss[2] * scale[2] + loss[3] * scale[3];
    };
    total();
    k::cross_entropy_backward(ce, rows, x.data(), targets.data(), lse.data(), scale.data(), dx.data());
    std::vector<double> differences;
    for (double& e : x) {
      const double at = e, h = 1e-6;
      e = at + h;
      const double above = total();
      e = at - h;
      differences.push_back((above - total()) / (2 * h));
      e = at;
    }
    check_close(dx, differences, 1e-7);
  }
}

TEST_CASE("layer norm and RMS norm with their gradients") {
  for_scalars_and_paths([]<class T>(T) {
    using W = mt::compute_t<T>;
    for (std::int64_t n : {1, 5, 16, 50}) {
      const std::int64_t rows = 70;
      const auto size = static_cast<std::size_t>(rows * n), columns = static_cast<std::size_t>(n), count = static_cast<std::size_t>(rows);
      const auto x = as<T>(numbers(rows * n, 1)), dy = as<T>(numbers(rows * n, 2));
      const auto weight = as<W>(numbers(n, 3)), bias = as<W>(numbers(n, 4));
      for (bool centred : {true, false}) {
        std::vector<T> y(size), dx(size);
        std::vector<double> mean(count), rstd(count);
        std::vector<W> dw(columns), db(columns);
        const double eps = 1e-3;
        if (centred) {
          k::layer_norm(rows, n, x.data(), weight.data(), bias.data(), eps, y.data(), mean.data(), rstd.data());
          k::layer_norm_backward(rows, n, x.data(), weight.data(), mean.data(), rstd.data(), dy.data(), dx.data(), dw.data(), db.data());
        } else {
          k::rms_norm(rows, n, x.data(), weight.data(), eps, y.data(), rstd.data());
          k::rms_norm_backward(rows, n, x.data(), weight.data(), rstd.data(), dy.data(), dx.data(), dw.data());
        }
        std::vector<double> y_want(size), dx_want(size), dw_want(columns), db_want(columns);
        for (std::size_t r = 0; r < count; ++r) {
          const auto at = [&](const std::vector<T>& v, std::size_t i) { return static_cast<double>(v[r * columns + i]); };
          double m = 0, variance = 0, g = 0, gv = 0;
          if (centred)
            for (std::size_t i = 0; i < columns; ++i) m += at(x, i) / static_cast<double>(n);
          for (std::size_t i = 0; i < columns; ++i) variance += (at(x, i) - m) * (at(x, i) - m) / static_cast<double>(n);
          const double s = 1 / std::sqrt(variance + eps);
          for (std::size_t i = 0; i < columns; ++i) {
            const double v = (at(x, i) - m) * s, gi = at(dy, i) * static_cast<double>(weight[i]);
            y_want[r * columns + i] = v * static_cast<double>(weight[i]) + (centred ? static_cast<double>(bias[i]) : 0);
            g += centred ? gi / static_cast<double>(n) : 0;
            gv += gi * v / static_cast<double>(n);
            dw_want[i] += at(dy, i) * v;
            db_want[i] += centred ? at(dy, i) : 0;
          }
          for (std::size_t i = 0; i < columns; ++i)
            dx_want[r * columns + i] = s * (at(dy, i) * static_cast<double>(weight[i]) - g - (at(x, i) - m) * s * gv);
        }
        check_close(y, y_want, 4 * tolerance<T>);
        check_close(dx, dx_want, 8 * tolerance<T>);
        check_close(dw, dw_want, 8 * tolerance<W>);
        if (centred) check_close(db, db_want, 8 * tolerance<W>);
      }
    }
  });
}

TEST_CASE("LN02 LN03 LN04 LN05 LN06 LN08 layer norm at the edges") {
  const auto norm = []<class T>(const std::vector<double>& values, double eps, T) {
    const auto x = as<T>(values);
    std::vector<T> y(x.size());
    double mean = 0, rstd = 0;
    k::layer_norm(1, static_cast<std::int64_t>(x.size()), x.data(), static_cast<const float*>(nullptr), static_cast<const float*>(nullptr),
                  eps, y.data(), &mean, &rstd);
    return y;
  };
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    const std::vector<double> x = {2, 2, 2, 2}, dy = {1, 2, 3, 4}, weight(4, 1.0);
    std::vector<double> dx(4), dw(4), db(4);
    double mean = 2, rstd = 1 / std::sqrt(1e-5);
    k::layer_norm_backward(1, 4, x.data(), weight.data(), &mean, &rstd, dy.data(), dx.data(), dw.data(), db.data());
    check_close(dx, {-474.34164902525686, -158.11388300841895, 158.11388300841895, 474.34164902525686}, 1e-12);
    check_close(norm({14, 14}, 1e-6, float{}), {0, 0}, 0);
    for (double offset : {1e4, 1e6})
      check_close(norm({offset + 1, offset + 2, offset + 3, offset + 4}, 1e-5, float{}), {-1.3416354, -0.4472118, 0.4472118, 1.3416354},
                  1e-6);
    check_close(norm({1e30, 0, 0, 0}, 1e-5, float{}), {1.7320508, -0.57735027, -0.57735027, -0.57735027}, 1e-6);
    check_close(norm({1e200, 0, 0, 0}, 1e-5, double{}), {1.7320508075688772, -0.5773502691896258, -0.5773502691896258, -0.5773502691896258},
                1e-14);
    check_close(norm({3}, 1e-5, float{}), {0}, 0);
    check_close(norm({1, 2, 3, 4}, 1e-5, mt::bfloat16{}), {-1.34375, -0.447265625, 0.447265625, 1.34375}, 0);
  }
}

TEST_CASE("LN07 a small spread around a large mean keeps its variance") {
  const std::int64_t n = 32768;
  std::vector<float> x;
  double mean = 0, square = 0;
  for (double v : numbers(n, 5)) x.push_back(static_cast<float>(100 + 0.01 * v));
  for (float v : x) mean += static_cast<double>(v) / static_cast<double>(n);
  for (float v : x) square += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean) / static_cast<double>(n);
  std::vector<float> y(x.size());
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    double m = 0, rstd = 0;
    k::layer_norm(1, n, x.data(), static_cast<const float*>(nullptr), static_cast<const float*>(nullptr), 0, y.data(), &m, &rstd);
    CHECK(1 / (rstd * rstd) == Approx(square).epsilon(1e-6));
  }
}

TEST_CASE("EM01 EM02 EM04 EM05 rows by index, and gradients into them") {
  for_scalars_and_paths([]<class T>(T) {
    using G = mt::compute_t<T>;
    const auto table = as<T>({0, 1, 2, 3, 4, 5});
    const std::vector<std::int64_t> index = {1, 1, 0};
    std::vector<T> out(6);
    k::gather_rows(3, 2, table.data(), 3, index.data(), out.data());
    check_close(out, {2, 3, 2, 3, 0, 1}, 0);
    std::vector<G> grad(6);
    k::scatter_add_rows(3, 2, as<T>({1, 2, 3, 4, 5, 6}).data(), 3, index.data(), grad.data());
    check_close(grad, {5, 6, 4, 6, 0, 0}, 0);
    std::vector<G> padded(6);
    k::scatter_add_rows(3, 2, as<T>({1, 1, 1, 1, 1, 1}).data(), 3, index.data(), padded.data(), 1);
    check_close(padded, {1, 1, 0, 0, 0, 0}, 0);
    k::gather_rows(3, 2, table.data(), 0, index.data(), out.data());
    const std::vector<std::int64_t> often(1000, 2);
    std::vector<T> narrow(6);
    k::scatter_add_rows(3, 2, std::vector<T>(2000, T(1)).data(), 1000, often.data(), narrow.data());
    check_close(narrow, {0, 0, 0, 0, 1000, 1000}, 0);
  });
}

TEST_CASE("EM03 an index outside of the table is refused") {
  const std::vector<float> table(6);
  std::vector<float> out(2);
  for (std::int64_t index : {3, -1}) CHECK_THROWS_AS(k::gather_rows(3, 2, table.data(), 1, &index, out.data()), mt::ArgumentError);
}
