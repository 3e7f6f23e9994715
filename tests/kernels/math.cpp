// The vector functions against long double references: the largest error in units of the last place, and special values.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <minitorch/kernels/map.hpp>
#include <minitorch/kernels/math.hpp>
#include <tests/catch.hpp>
#include <tests/kernels/paths.hpp>

namespace k = minitorch::kernels;

namespace {

template <class T>
struct Function {
  std::string name;
  double low, high;  // arguments to try; both halves evenly spread and evenly spread in magnitude
  double bound;      // in ulp
  std::function<void(std::int64_t, T*, const T*)> run;
  std::function<long double(long double)> reference;
};

template <class T>
long double ulp_of(T number) {
  int exponent = 0;
  std::frexp((std::max)(std::abs(number), std::numeric_limits<T>::min()), &exponent);
  return std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
}

template <class T>
std::vector<T> arguments(double low, double high) {
  const T inf = std::numeric_limits<T>::infinity(), min = std::numeric_limits<T>::min(), max = std::numeric_limits<T>::max();
  std::vector<T> x = {0,   T(-0.0), inf,     -inf, std::numeric_limits<T>::quiet_NaN(),  1,
                      -1,  T(0.5),  T(-0.5), 2,    std::numeric_limits<T>::denorm_min(), min,
                      max, -max};
  std::uint64_t state = 1;
  const auto uniform = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  const double reach = std::log((std::max)(std::abs(low), std::abs(high)));
  for (int i = 0; i < 30000; ++i) {
    x.push_back(static_cast<T>(low + (high - low) * uniform()));
    const double size = std::exp(reach - uniform() * 60), value = low < 0 && uniform() < 0.5 ? -size : size;
    if (value >= low && value <= high) x.push_back(static_cast<T>(value));
  }
  return x;
}

// The largest error over the arguments. Where the right result is 0, infinite or NaN it must be met exactly.
template <class T>
void check(const Function<T>& f) {
  const std::vector<T> x = arguments<T>(f.low, f.high);
  std::vector<T> y(x.size());
  f.run(static_cast<std::int64_t>(x.size()), y.data(), x.data());
  long double worst = 0;
  T worst_at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double right = f.reference(static_cast<long double>(x[i]));
    const T rounded = static_cast<T>(right);
    if (std::isnan(rounded) || std::isinf(rounded) || rounded == 0) {
      INFO(f.name << "(" << x[i] << ") = " << y[i] << ", expected " << rounded);
      CHECK(((std::isnan(rounded) && std::isnan(y[i])) || std::memcmp(&rounded, &y[i], sizeof(T)) == 0));
      continue;
    }
    const long double error = std::abs(static_cast<long double>(y[i]) - right) / ulp_of(rounded);
    if (!(error <= worst)) worst = error, worst_at = x[i];
  }
  INFO(f.name << ": " << worst << " ulp at " << worst_at << ", path " << k::isa_name(k::isa()));
  CHECK(worst <= static_cast<long double>(f.bound));
}

template <class T>
std::vector<Function<T>> functions() {
  constexpr bool narrow = std::same_as<T, float>;
  const auto make = [](std::string name, double low, double high, double bound, auto f, auto reference) {
    return Function<T>{std::move(name), low, high, bound, [f](std::int64_t n, T* y, const T* x) { k::map(n, f, y, x); }, reference};
  };
  using Real = long double;
  const Real half_root = std::sqrt(0.5L), density = 0.398942280401432677939946059934L;
  return {
      make(
          "exp", narrow ? -104 : -746, narrow ? 89 : 710, 1.2, [](auto a) { return exp(a); }, [](Real a) { return std::exp(a); }),
      make(
          "expm1", -40, narrow ? 88 : 709, 2, [](auto a) { return expm1(a); }, [](Real a) { return std::expm1(a); }),
      make(
          "log", 0, 1e30, 1, [](auto a) { return log(a); }, [](Real a) { return std::log(a); }),
      make(
          "log1p", -1, 10, 2.1, [](auto a) { return log1p(a); }, [](Real a) { return std::log1p(a); }),
      make(
          "tanh", -10, 10, 1.5, [](auto a) { return tanh(a); }, [](Real a) { return std::tanh(a); }),
      make(
          "sigmoid", narrow ? -104 : -746, 40, 2.5, [](auto a) { return sigmoid(a); }, [](Real a) { return 1 / (1 + std::exp(-a)); }),
      make(
          "softplus", narrow ? -104 : -746, 40, 2.6, [](auto a) { return softplus(a); },
          [](Real a) { return (std::isnan(a) ? a : (std::max)(a, Real{0})) + std::log1p(std::exp(-std::abs(a))); }),
      make(
          "erf", -6, 6, 2.3, [](auto a) { return erf(a); }, [](Real a) { return std::erf(a); }),
      make(
          "erfc", -6, narrow ? 10 : 27, 4, [](auto a) { return erfc(a); }, [](Real a) { return std::erfc(a); }),
      make(
          "normal_cdf", narrow ? -14 : -38, 9, 4.6, [](auto a) { return normal_cdf(a); },
          [=](Real a) { return std::erfc(-a * half_root) / 2; }),
      make(
          "normal_pdf", narrow ? -14 : -38, 38, 2.3, [](auto a) { return normal_pdf(a); },
          [=](Real a) { return std::exp(-a * a / 2) * density; }),
      make(
          "sin", -1e6, 1e6, 1.7, [](auto a) { return sin(a); }, [](Real a) { return std::sin(a); }),
      make(
          "cos", -1e6, 1e6, 1.7, [](auto a) { return cos(a); }, [](Real a) { return std::cos(a); }),
      make(
          "sin of small angles", -4, 4, 1.7, [](auto a) { return sin(a); }, [](Real a) { return std::sin(a); }),
      make(
          "sqrt", 0, 1e30, 0.5, [](auto a) { return sqrt(a); }, [](Real a) { return std::sqrt(a); }),
      make(
          "rsqrt", 0, 1e30, 1.5, [](auto a) { return rsqrt(a); }, [](Real a) { return 1 / std::sqrt(a); }),
      make(
          "round", -1e6, 1e6, 0, [](auto a) { return round(a); }, [](Real a) { return std::rint(a); }),
      make(
          "floor", -1e3, 1e3, 0, [](auto a) { return floor(a); }, [](Real a) { return std::floor(a); }),
      make(
          "a^2.5", 0, 100, 1, [](auto a) { return pow(a, 2.5); }, [](Real a) { return std::pow(a, 2.5L); }),
      make(
          "a^-3", -100, 100, 1, [](auto a) { return pow(a, -3); }, [](Real a) { return std::pow(a, -3.0L); }),
      make(
          "1.5^a", narrow ? -250 : -1800, narrow ? 218 : 1750, 1, [](auto a) { return pow(decltype(a)(1.5), a); },
          [](Real a) { return std::pow(1.5L, a); }),
  };
}

template <class T>
void check_all() {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    for (const auto& f : functions<T>()) check(f);
  }
}

template <class T>
void check_powers() {
  const T inf = std::numeric_limits<T>::infinity(), nan_value = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> values = {0,
                                 T(-0.0),
                                 1,
                                 -1,
                                 2,
                                 -2,
                                 T(0.5),
                                 T(-0.5),
                                 3,
                                 -3,
                                 inf,
                                 -inf,
                                 nan_value,
                                 std::numeric_limits<T>::max(),
                                 std::numeric_limits<T>::denorm_min(),
                                 1 + std::numeric_limits<T>::epsilon(),
                                 T(1e10),
                                 T(9007199254740993.0)};
  std::vector<T> x, y;
  for (T a : values)
    for (T b : values) x.push_back(a), y.push_back(b);
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    std::vector<T> z(x.size());
    k::map(
        static_cast<std::int64_t>(x.size()), [](auto a, auto b) { return pow(a, b); }, z.data(), x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const T right = std::pow(x[i], y[i]);
      INFO("pow(" << x[i] << ", " << y[i] << ") = " << z[i] << ", expected " << right);
      const bool close =
          std::isfinite(right) && std::abs(static_cast<long double>(right) - static_cast<long double>(z[i])) <= ulp_of(right);
      CHECK(((std::isnan(right) && std::isnan(z[i])) || (close && std::signbit(right) == std::signbit(z[i])) ||
             (std::isinf(right) && right == z[i])));
    }
  }
}

}  // namespace

TEST_CASE("vector functions of float") { check_all<float>(); }
TEST_CASE("vector functions of double") { check_all<double>(); }
TEST_CASE("pow has the special values of IEEE 754, float") { check_powers<float>(); }
TEST_CASE("pow has the special values of IEEE 754, double") { check_powers<double>(); }

TEST_CASE("KG15 KG17 KG18 KG23 KG24 GE_min functions of plain numbers") {
  CHECK(k::tanh(1000.0) == 1);
  CHECK(k::softplus(1000.0) == 1000);
  CHECK(k::softplus(-40.0) == Approx(4.248354255291589e-18).epsilon(1e-14));
  CHECK(k::expm1(1e-10) == Approx(1.00000000005e-10).epsilon(1e-15));
  CHECK(k::log1p(1e-10) == Approx(9.9999999995e-11).epsilon(1e-15));
  CHECK(k::gelu(-0.7517915246935645) == Approx(-0.16997120747990366).epsilon(1e-14));
  CHECK(k::relu(-2.0) == 0);
  CHECK(k::silu(1.0f) == Approx(0.7310585786));
}
