// gelu, gelu_tanh and the normal distribution: by expect_op and the case table.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/gelu.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

namespace {

const auto exact = [](const auto& x) { return mt::gelu(x); };
const auto with_tanh = [](const auto& x) { return mt::gelu_tanh(x); };

double gelu_tanh_of(double x) { return x / (1 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))); }

struct Row {
  double x, exact_value, exact_slope, tanh_value, tanh_slope;
};

}  // namespace

TEST_CASE("gelu") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::gelu(x); }, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); },
      spread({3, 5}));
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::gelu_tanh(x); }, gelu_tanh_of, spread({3, 5}));
}

TEST_CASE("normal_cdf and normal_pdf") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::normal_cdf(x); }, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); },
      spread({3, 5}));
  tests::expect_op(
      {.saved = 2}, [](const auto& x) { return mt::normal_pdf(x); },
      [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0)); }, spread({3, 5}));
}

TEST_CASE("GE_-10 GE_-5 GE_-1 GE_0.5 GE_1 GE_3 GE_10 both forms and their derivatives") {
  for (const Row& row : {Row{-10, -7.6198530241605261e-23, -7.6184000964648141e-22, -1.204092348209806e-37, -2.7576380638540316e-36},
                         Row{-5, -1.4332578593959696e-6, -7.1469460017922946e-6, -2.291796196629506e-7, -1.5463619875325946e-6},
                         Row{-1, -0.15865525393145705, -0.083315470587686298, -0.1588080093917233, -0.082964083845782555},
                         Row{0.5, 0.34573123063700656, 0.86749512465616284, 0.34571400982514392, 0.86736990353464231},
                         Row{1, 0.84134474606854295, 1.0833154705876863, 0.8411919906082767, 1.0829640838457826},
                         Row{3, 2.9959503059051097, 1.0119456472041839, 2.996362607918227, 1.0115841666309697}, Row{10, 10, 1, 10, 1}}) {
    INFO("at " << row.x);
    const auto e = tests::at(exact, row.x), t = tests::at(with_tanh, row.x);
    CHECK(e.value == Approx(row.exact_value).epsilon(1e-12));
    CHECK(e.slope == Approx(row.exact_slope).epsilon(1e-12));
    CHECK(t.value == Approx(row.tanh_value).epsilon(1e-12));
    CHECK(t.slope == Approx(row.tanh_slope).epsilon(1e-12));
  }
}

TEST_CASE("GE_1e30 huge arguments") {
  const auto check = [](auto huge) {
    using T = decltype(huge);
    for (const auto& f : {std::function<Tensor<T>(const Tensor<T>&)>(exact), std::function<Tensor<T>(const Tensor<T>&)>(with_tanh)})
      for (const bool positive : {true, false}) {
        Tensor<T> x = mt::full<T>({1}, positive ? huge : -huge);
        x.set_requires_grad();
        const Tensor<T> y = f(x);
        y.backward();
        CHECK(static_cast<double>(y.item()) == (positive ? static_cast<double>(huge) : 0.0));
        CHECK(static_cast<double>(x.grad().item()) == (positive ? 1.0 : 0.0));
      }
  };
  check(1e30);
  check(1e5f);
  check(static_cast<mt::half>(60000.0f));
}

TEST_CASE("GE_min GE_2nd the minimum, and the second derivative") {
  const auto lowest = tests::at(exact, -0.7517915246935645);
  CHECK(lowest.value == Approx(-0.16997120747990366).epsilon(1e-14));
  CHECK(std::abs(lowest.slope) < 1e-15);
  auto x = mt::scalar<double>(0.7);
  x.set_requires_grad();
  const auto first = mt::grad(mt::gelu(x), x, {.create_graph = true});
  CHECK(mt::grad(first, x).item() == Approx(0.4715034393838095).epsilon(1e-12));
}
