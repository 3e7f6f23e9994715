// gradcheck finds what is wrong, and only that.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/gradcheck.hpp>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

namespace {

using Inputs = std::vector<mt::Tensor<double>>;

Inputs two() { return {leaf(mt::tensor<double>({0.3, -1.2, 2})), leaf(mt::tensor<double>({1.5, 0.7, -0.4}))}; }

// sin(x) with a derivative of `factor` cos(x).
mt::Tensor<double> wrong_sin(const mt::Tensor<double>& x, double factor) {
  return mt::record<double>(
      "wrong_sin", x.shape(), [&](double* out) { each(x, out, [](double v) { return std::sin(v); }); },
      mt::wrt(
          x, [](const mt::Tensor<double>& dy, const mt::Tensor<double>& at, double f) { return scale(mul(dy, cos(at)), f); }, x, factor));
}

}  // namespace

TEST_CASE("right rules pass, to the second order") {
  const auto f = [](const Inputs& in) { return mul(sin(in[0]), exp(mul(in[0], in[1]))); };
  CHECK_NOTHROW(mt::gradcheck(f, two()));
  CHECK_NOTHROW(mt::gradgradcheck(f, two()));
}

TEST_CASE("a rule that is one percent off, or whose second derivative is missing") {
  CHECK_THROWS_WITH(mt::gradcheck([](const Inputs& in) { return wrong_sin(in[0], 1.01); }, two()), Catch::Contains("element 0 of input 0"));
  CHECK_NOTHROW(mt::gradcheck([](const Inputs& in) { return wrong_sin(in[0], 1); }, two()));
  const auto forgets = [](const Inputs& in) {
    return mt::record<double>(
        "forgets", in[0].shape(), [&](double* out) { each(in[0], out, [](double v) { return std::sin(v); }); },
        mt::wrt(
            in[0], [](const mt::Tensor<double>& dy, const mt::Tensor<double>& at) { return mul(dy, cos(at).detach()); }, in[0]));
  };
  CHECK_NOTHROW(mt::gradcheck(forgets, two()));
  CHECK_THROWS_AS(mt::gradgradcheck(forgets, two()), mt::GraphError);
}

TEST_CASE("inputs without gradient, unused inputs, none at all") {
  Inputs in = two();
  in[1] = in[1].detach();
  CHECK_NOTHROW(mt::gradcheck([](const Inputs& x) { return mul(x[0], x[1]); }, in));
  CHECK_NOTHROW(mt::gradcheck([](const Inputs& x) { return sin(x[0]); }, two()));
  CHECK_NOTHROW(mt::gradgradcheck([](const Inputs& x) { return scale(x[0], 2); }, two()));
  CHECK_THROWS_AS(mt::gradcheck([](const Inputs& x) { return sin(x[0].detach()); }, two()), mt::GraphError);
  const auto wrong = [](const Inputs& x) { return wrong_sin(x[0], 2); };  // nobody would see it
  in[0] = in[0].detach();
  CHECK_THROWS_WITH(mt::gradcheck(wrong, in), Catch::Contains("gradcheck") && Catch::Contains("none of 2 does"));
  CHECK_THROWS_WITH(mt::gradgradcheck(wrong, in), Catch::Contains("gradgradcheck"));
  CHECK_THROWS_AS(mt::gradcheck(wrong, {}), mt::ArgumentError);
}
