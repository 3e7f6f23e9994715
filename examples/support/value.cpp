// Values of a report as text, and how far two of them are apart.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <examples/support/value.hpp>

namespace support {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

std::string number(double value, int digits) { return digits == 0 ? fmt::format("{}", value) : fmt::format("{:.{}g}", value, digits); }

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::ptrdiff_t sign = value < 0 ? 1 : 0;
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > sign; at -= 3) digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

struct Text {
  int digits;
  std::string operator()(bool value) const { return value ? "yes" : "no"; }
  std::string operator()(std::int64_t value) const { return grouped(value); }
  std::string operator()(double value) const { return number(value, digits); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<double>& values) const {
    std::string out = "[";
    for (double value : values) out += (out.size() > 1 ? ", " : "") + number(value, digits);
    return out + "]";
  }
};

struct Difference {
  double operator()(double a, double b) const { return a == b ? 0 : std::isfinite(a - b) ? std::abs(a - b) : infinite; }
  double operator()(std::int64_t a, std::int64_t b) const { return std::abs(static_cast<double>(a - b)); }
  double operator()(std::int64_t a, double b) const { return (*this)(static_cast<double>(a), b); }
  double operator()(double a, std::int64_t b) const { return (*this)(a, static_cast<double>(b)); }
  double operator()(bool a, bool b) const { return a == b ? 0 : infinite; }
  double operator()(const std::string& a, const std::string& b) const { return a == b ? 0 : infinite; }
  double operator()(const std::vector<double>& a, const std::vector<double>& b) const {
    if (a.size() != b.size()) return infinite;
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, (*this)(a[i], b[i]));
    return largest;
  }
  template <class A, class B>
  double operator()(const A&, const B&) const {
    return infinite;
  }
};

}  // namespace

std::string to_text(const Value& value, int digits) { return std::visit(Text{digits}, value); }

double difference(const Value& a, const Value& b) { return std::visit(Difference{}, a, b); }

}  // namespace support
