// Every operation on one number at zeros, infinities, NaN, subnormal and extreme numbers, in the four scalar types: value and slope.
// SPDX-License-Identifier: MIT
#include <minitorch/ops/pointwise.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <minitorch/ops/ops.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::Tensor;

namespace {

using Real = long double;
constexpr Real inf = std::numeric_limits<Real>::infinity();
const Real pi = std::acos(Real(-1));

// The reference at its limits, where a product of zero and infinity would be NaN.
Real limited(Real x, Real below, Real above, Real inside) { return x == -inf ? below : x == inf ? above : inside; }
Real cdf(Real x) { return std::erfc(-x / std::sqrt(Real(2))) / 2; }
Real pdf(Real x) { return std::exp(-x * x / 2) / std::sqrt(2 * pi); }
Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real inner(Real x) { return std::sqrt(2 / pi) * (x + Real(0.044715) * x * x * x); }
Real gelu_tanh_slope(Real x) {
  const Real s = sigmoid(2 * inner(x)), in = std::sqrt(2 / pi) * (1 + 3 * Real(0.044715) * x * x);
  return s + 2 * x * s * (1 - s) * in;
}
Real step(Real x, Real below, Real at, Real above) { return std::isnan(x) ? x : x < 0 ? below : x > 0 ? above : at; }

// Of a scalar type: the distance from 1 to the next number, the smallest number, the smallest normal one, the largest.
struct Limits {
  double epsilon, smallest, normal, largest;
};
template <class T>
constexpr Limits limits{0x1p-52, 0x1p-1074, 0x1p-1022, std::numeric_limits<double>::max()};
template <>
constexpr Limits limits<float>{0x1p-23, 0x1p-149, 0x1p-126, 0x1.fffffep127};
template <>
constexpr Limits limits<mt::half>{0x1p-10, 0x1p-24, 0x1p-14, 65504};
template <>
constexpr Limits limits<mt::bfloat16>{0x1p-7, 0x1p-133, 0x1p-126, 0x1.fep127};

template <class T>
std::vector<T> edges() {
  const Limits& of = limits<T>;
  std::vector<T> points;
  for (double x : {0.0, of.smallest, of.normal - of.smallest, of.normal, 1.0, of.largest, tests::infinity, tests::nan_value})
    for (double sign : {1.0, -1.0}) points.push_back(static_cast<T>(static_cast<mt::compute_t<T>>(sign * x)));
  return points;
}

template <class T>
Real rounded(Real x) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>)
    return static_cast<Real>(static_cast<T>(x));
  else
    return static_cast<Real>(static_cast<float>(static_cast<T>(static_cast<float>(x))));
}

template <class T>
void check_number(T got, Real right) {
  const Real g = static_cast<Real>(static_cast<mt::compute_t<T>>(got)), r = rounded<T>(right);
  INFO("got " << static_cast<double>(g) << ", right is " << static_cast<double>(r));
  if (std::isnan(r) || std::isnan(g))
    CHECK(std::isnan(r) == std::isnan(g));
  else if (std::isinf(r) || std::isinf(g))
    CHECK(g == r);
  else
    CHECK(std::abs(g - r) <= 4 * limits<T>.epsilon * std::abs(r) + 2 * limits<T>.smallest);
}

template <class T, class F, class V, class S>
void check_in(const char* name, const F& f, const V& value, const S& slope) {
  for (const T at : edges<T>()) {
    const Real x = static_cast<Real>(static_cast<mt::compute_t<T>>(at));
    INFO(name << " in " << mt::dtype_name(mt::dtype_of<T>) << " at " << static_cast<double>(x));
    Tensor<T> in = mt::full<T>({1}, at);
    in.set_requires_grad();
    const Tensor<T> y = f(in);
    y.backward(mt::ones<T>({1}));
    {
      INFO("value");
      check_number<T>(y.item(), value(x));
      if (x == 0 && value(x) == 0) CHECK(std::signbit(static_cast<double>(y.item())) == std::signbit(value(x)));
    }
    INFO("slope");
    check_number<T>(static_cast<T>(in.grad().item()), slope(x));
  }
}

// f is generic, the value and slope are functions of a real number.
template <class F, class V, class S>
void check_edges(const char* name, F f, V value, S slope) {
  check_in<double>(name, f, value, slope);
  check_in<float>(name, f, value, slope);
  check_in<mt::half>(name, f, value, slope);
  check_in<mt::bfloat16>(name, f, value, slope);
}

}  // namespace

TEST_CASE("piecewise linear operations at the edges") {
  check_edges(
      "relu", [](const auto& x) { return mt::relu(x); }, [](Real x) { return x < 0 ? 0 : x; }, [](Real x) { return x <= 0 ? 0 : 1; });
  check_edges(
      "leaky_relu", [](const auto& x) { return mt::leaky_relu(x, 0.25f); }, [](Real x) { return x > 0 ? x : x / 4; },
      [](Real x) { return x > 0 ? Real(1) : Real(0.25); });
  check_edges(
      "clamp", [](const auto& x) { return mt::clamp(x, -1, 1); }, [](Real x) { return x > 1    ? 1
                                                                                      : x < -1 ? -1
                                                                                               : x; },
      [](Real x) { return x >= -1 && x <= 1 ? 1 : 0; });
  check_edges(
      "abs", [](const auto& x) { return mt::abs(x); }, [](Real x) { return std::abs(x); }, [](Real x) { return step(x, -1, 0, 1); });
  check_edges(
      "sign", [](const auto& x) { return mt::sign(x); }, [](Real x) { return step(x, -1, x, 1); }, [](Real) { return 0; });
  check_edges(
      "neg", [](const auto& x) { return mt::neg(x); }, [](Real x) { return -x; }, [](Real) { return -1; });
}

TEST_CASE("powers and roots at the edges") {
  check_edges(
      "square", [](const auto& x) { return mt::square(x); }, [](Real x) { return x * x; }, [](Real x) { return 2 * x; });
  check_edges(
      "sqrt", [](const auto& x) { return mt::sqrt(x); }, [](Real x) { return std::sqrt(x); },
      [](Real x) { return 1 / (2 * std::sqrt(x)); });
  check_edges(
      "rsqrt", [](const auto& x) { return mt::rsqrt(x); }, [](Real x) { return 1 / std::sqrt(x); },
      [](Real x) { return -std::pow(1 / std::sqrt(x), Real(3)) / 2; });
  check_edges(
      "pow 3", [](const auto& x) { return mt::pow(x, 3); }, [](Real x) { return x * x * x; }, [](Real x) { return 3 * x * x; });
  check_edges(
      "pow 0.5", [](const auto& x) { return mt::pow(x, 0.5f); }, [](Real x) { return std::pow(x, Real(0.5)); },
      [](Real x) { return std::pow(x, Real(-0.5)) / 2; });
  check_edges(
      "1 / x", [](const auto& x) { return 1 / x; }, [](Real x) { return 1 / x; }, [](Real x) { return -1 / (x * x); });
}

TEST_CASE("exponentials and logarithms at the edges") {
  check_edges(
      "exp", [](const auto& x) { return mt::exp(x); }, [](Real x) { return std::exp(x); }, [](Real x) { return std::exp(x); });
  check_edges(
      "expm1", [](const auto& x) { return mt::expm1(x); }, [](Real x) { return std::expm1(x); }, [](Real x) { return std::exp(x); });
  check_edges(
      "log", [](const auto& x) { return mt::log(x); }, [](Real x) { return std::log(x); }, [](Real x) { return 1 / x; });
  check_edges(
      "log1p", [](const auto& x) { return mt::log1p(x); }, [](Real x) { return std::log1p(x); }, [](Real x) { return 1 / (1 + x); });
  check_edges(
      "sin", [](const auto& x) { return mt::sin(x); }, [](Real x) { return std::sin(x); }, [](Real x) { return std::cos(x); });
  check_edges(
      "cos", [](const auto& x) { return mt::cos(x); }, [](Real x) { return std::cos(x); }, [](Real x) { return -std::sin(x); });
}

TEST_CASE("activations at the edges") {
  check_edges(
      "tanh", [](const auto& x) { return mt::tanh(x); }, [](Real x) { return std::tanh(x); },
      [](Real x) { return 1 - std::tanh(x) * std::tanh(x); });
  check_edges(
      "sigmoid", [](const auto& x) { return mt::sigmoid(x); }, sigmoid, [](Real x) { return sigmoid(x) * (1 - sigmoid(x)); });
  check_edges(
      "silu", [](const auto& x) { return mt::silu(x); }, [](Real x) { return limited(x, 0, inf, x * sigmoid(x)); },
      [](Real x) { return limited(x, 0, 1, sigmoid(x) * (1 + x * (1 - sigmoid(x)))); });
  check_edges(
      "gelu", [](const auto& x) { return mt::gelu(x); }, [](Real x) { return limited(x, 0, inf, x * cdf(x)); },
      [](Real x) { return limited(x, 0, 1, cdf(x) + x * pdf(x)); });
  check_edges(
      "gelu_tanh", [](const auto& x) { return mt::gelu_tanh(x); }, [](Real x) { return limited(x, 0, inf, x * sigmoid(2 * inner(x))); },
      [](Real x) { return limited(x, 0, 1, gelu_tanh_slope(x)); });
  check_edges(
      "softplus", [](const auto& x) { return mt::softplus(x); },
      [](Real x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }, sigmoid);
  check_edges(
      "logsigmoid", [](const auto& x) { return mt::logsigmoid(x); },
      [](Real x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); }, [](Real x) { return sigmoid(-x); });
  check_edges(
      "erf", [](const auto& x) { return mt::erf(x); }, [](Real x) { return std::erf(x); },
      [](Real x) { return 2 / std::sqrt(pi) * std::exp(-x * x); });
  check_edges(
      "normal_cdf", [](const auto& x) { return mt::normal_cdf(x); }, cdf, pdf);
  check_edges(
      "normal_pdf", [](const auto& x) { return mt::normal_pdf(x); }, pdf, [](Real x) { return limited(x, 0, 0, -x * pdf(x)); });
}
