// Dual numbers of packs: first and second derivatives of every function against differences, and GELU's table.
// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include <minitorch/kernels/dual.hpp>
#include <minitorch/kernels/map.hpp>
#include <tests/catch.hpp>
#include <tests/kernels/paths.hpp>

namespace mt = minitorch;
namespace k = minitorch::kernels;

namespace {

// The value, the first and the second derivative of f at x.
template <class F>
std::array<double, 3> derivatives(F f, double x) {
  std::array<double, 3> out{};
  k::map(
      1,
      [f](auto a) {
        using Once = k::Dual<decltype(a), 1>;
        const auto result = f(k::Dual<Once, 1>(Once(a, 0), 0));
        return std::tuple(result.value.value, result.value.slope[0], result.slope[0].slope[0]);
      },
      std::tuple(&out[0], &out[1], &out[2]), &x);
  return out;
}

template <class F>
void check_derivatives(const char* name, F f, std::initializer_list<double> points = {0.3, 0.9, 1.7}) {
  for (double x : points) {
    const double h = 1e-5;
    const auto at = derivatives(f, x), above = derivatives(f, x + h), below = derivatives(f, x - h);
    INFO(name << " at " << x);
    CHECK(at[1] == Approx((above[0] - below[0]) / (2 * h)).epsilon(1e-6).margin(1e-8));
    CHECK(at[2] == Approx((above[1] - below[1]) / (2 * h)).epsilon(1e-6).margin(1e-8));
    double value = 0;
    k::map(1, f, &value, &x);
    CHECK(at[0] == Approx(value).epsilon(1e-15));
  }
}

}  // namespace

TEST_CASE("dual numbers give the derivatives of the vector functions") {
  check_derivatives("exp", [](const auto& a) { return exp(a); });
  check_derivatives("expm1", [](const auto& a) { return expm1(a); });
  check_derivatives("log", [](const auto& a) { return log(a); });
  check_derivatives("log1p", [](const auto& a) { return log1p(a); });
  check_derivatives("tanh", [](const auto& a) { return tanh(a); }, {-1.1, 0.3});
  check_derivatives("sigmoid", [](const auto& a) { return sigmoid(a); }, {-1.1, 0.3});
  check_derivatives("softplus", [](const auto& a) { return softplus(a); }, {-1.1, 0.3});
  check_derivatives("erf and erfc", [](const auto& a) { return erf(a) * 2 - erfc(a); }, {-1.1, 0.3});
  check_derivatives("normal", [](const auto& a) { return normal_cdf(a) + 3 * normal_pdf(a); }, {-1.1, 0.3});
  check_derivatives("sin and cos", [](const auto& a) { return sin(a) + 2 * cos(a); });
  check_derivatives("sqrt and rsqrt", [](const auto& a) { return sqrt(a) + rsqrt(a); });
  check_derivatives("abs and relu", [](const auto& a) { return abs(a) * a + relu(a) * a; }, {-1.1, 0.3});
  check_derivatives("silu", [](const auto& a) { return silu(a); }, {-1.1, 0.3});
  check_derivatives("gelu", [](const auto& a) { return gelu(a); }, {-1.1, 0.3});
  check_derivatives("gelu_tanh", [](const auto& a) { return gelu_tanh(a); }, {-1.1, 0.3});
  check_derivatives("powers", [](const auto& a) { return pow(a, 3) + pow(a, a) - pow(a, -0.5); });
  check_derivatives("arithmetic", [](const auto& a) { return 2.0 * a / (1 + a * a) - a + 3; });
  check_derivatives("a choice",
                    [](const auto& a) { return select(a > 1, a * a, maximum(sqrt(a), a * 0.1)) + minimum(a, 1.2 * a) + floor(a); });
}

TEST_CASE("derivatives by several variables") {
  const double x[] = {2, 3};
  double value = 0, by_a = 0, by_b = 0;
  k::map(
      1,
      [](auto a, auto b) {
        using D = k::Dual<decltype(a), 2>;
        const D p(a, 0), q(b, 1), result = p * sigmoid(q) + pow(p, q);
        return std::tuple(result.value, result.slope[0], result.slope[1]);
      },
      std::tuple(&value, &by_a, &by_b), &x[0], &x[1]);
  const double s = 1 / (1 + std::exp(-3.0));
  CHECK(value == Approx(2 * s + 8).epsilon(1e-14));
  CHECK(by_a == Approx(s + 12).epsilon(1e-14));
  CHECK(by_b == Approx(2 * s * (1 - s) + 8 * std::log(2.0)).epsilon(1e-14));
}

TEST_CASE("KG26 the derivative of 0^2 by the exponent is 0") {
  const double x[] = {0, 2};
  double by_base = 1, by_exponent = 1;
  k::map(
      1,
      [](auto a, auto b) {
        using D = k::Dual<decltype(a), 2>;
        const D result = pow(D(a, 0), D(b, 1));
        return std::tuple(result.slope[0], result.slope[1]);
      },
      std::tuple(&by_base, &by_exponent), &x[0], &x[1]);
  CHECK(by_base == 0);
  CHECK(by_exponent == 0);
}

TEST_CASE("GE_-10 GE_-5 GE_-1 GE_0.5 GE_1 GE_3 GE_10 GE_1e30 GE_2nd GELU and its derivatives") {
  struct Row {
    double x, erf, erf_slope, tanh, tanh_slope;
  };
  const Row rows[] = {{-10, -7.6198530241605261e-23, -7.6184000964648141e-22, -1.204092348209806e-37, -2.7576380638540316e-36},
                      {-5, -1.4332578593959696e-6, -7.1469460017922946e-6, -2.291796196629506e-7, -1.5463619875325946e-6},
                      {-1, -0.15865525393145705, -0.083315470587686298, -0.1588080093917233, -0.082964083845782555},
                      {0.5, 0.34573123063700656, 0.86749512465616284, 0.34571400982514392, 0.86736990353464231},
                      {1, 0.84134474606854295, 1.0833154705876863, 0.8411919906082767, 1.0829640838457826},
                      {3, 2.9959503059051097, 1.0119456472041839, 2.996362607918227, 1.0115841666309697},
                      {10, 10, 1, 10, 1},
                      {1e30, 1e30, 1, 1e30, 1}};
  const auto exact = [](const auto& a) { return gelu(a); };
  const auto tanh_form = [](const auto& a) { return gelu_tanh(a); };
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    for (const Row& row : rows) {
      INFO("x = " << row.x);
      const auto a = derivatives(exact, row.x), b = derivatives(tanh_form, row.x);
      CHECK(a[0] == Approx(row.erf).epsilon(1e-12));
      CHECK(a[1] == Approx(row.erf_slope).epsilon(1e-12));
      CHECK(b[0] == Approx(row.tanh).epsilon(1e-12));
      CHECK(b[1] == Approx(row.tanh_slope).epsilon(1e-12));
    }
    CHECK(derivatives(exact, 0.7)[2] == Approx(0.4715034393838095).epsilon(1e-12));
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto silu_form = [](const auto& a) { return silu(a); };
    for (const auto& at : {derivatives(exact, -1e30), derivatives(tanh_form, -1e30), derivatives(exact, -infinity),
                           derivatives(tanh_form, -infinity), derivatives(silu_form, -infinity)}) {
      CHECK(at[0] == 0);
      CHECK(at[1] == 0);
    }
    for (const auto& at : {derivatives(exact, infinity), derivatives(tanh_form, infinity), derivatives(silu_form, infinity)}) {
      CHECK(at[0] == infinity);
      CHECK(at[1] == 1);
    }
  }
}
