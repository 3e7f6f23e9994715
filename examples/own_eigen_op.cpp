// An operation of one's own, written with Eigen expressions: value and gradient, then checked and trained through.
// SPDX-License-Identifier: MIT

// Run: scripts/demo own_eigen_op
// Prints how far its gradients are from finite differences, and a fit through it beside the right answer.

#include <cmath>

#include <examples/support/program.hpp>
#include <minitorch/minitorch.hpp>

namespace mt = minitorch;

namespace {

template <class T>
using Rows = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
template <class T>
using OutRows = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

// value     log(1 + (x / c)^2), row by row with a scale c a column: Cauchy's robust error
// gradient  dx = dy 2 x / (c^2 + x^2), dc = -sum over rows of dy 2 x^2 / (c (c^2 + x^2))
// saves     x and c
template <mt::Scalar T>
mt::Tensor<T> cauchy(const mt::Tensor<T>& x, const mt::Tensor<T>& scale) {
  const auto rows = [](const mt::Tensor<T>& t) { return Rows<T>(t.data(), t.numel() / t.shape().back(), t.shape().back()); };
  return mt::record<T>(
      "cauchy", x.shape(),
      [&](T* out) { OutRows<T>(out, rows(x).rows(), rows(x).cols()) = (rows(x).rowwise() / rows(scale).row(0)).square().log1p(); },
      mt::wrt(
          x,
          [](const mt::Tensor<T>& dy, const mt::Tensor<T>& in, const mt::Tensor<T>& c) {
            // Written with operations of the library, the rule can be differentiated again.
            return mt::mul(dy, mt::div(mt::mul(in, T(2)), mt::add(mt::square(in), mt::square(c))));
          },
          x, scale),
      mt::wrt(
          scale,
          [](const mt::Tensor<T>& dy, const mt::Tensor<T>& in, const mt::Tensor<T>& c) {
            const auto squares = mt::square(in);
            return mt::mul(dy, mt::div(mt::mul(squares, T(-2)), mt::mul(c, mt::add(squares, mt::square(c)))));
          },
          x, scale));
}

const support::Part part{"own_eigen_op",
                         "An operation of one's own",
                         {{"gradient", "gradients agree with finite differences"},
                          {"second", "second derivatives agree with finite differences"},
                          {"robust_weight", "slope fitted through an outlier with it"},
                          {"square_weight", "slope fitted with squares, which follow the outlier"}}};

// The slope of y = w x, fitted to points on y = 2 x of which one is far off.
template <class Loss>
double fit(Loss loss) {
  const auto x = mt::arange<double>(1, 9).reshape({8, 1});
  const auto y = mt::concatenate({(2.0 * x).slice(0, 7), mt::full<double>({1, 1}, -20)}).detach();
  mt::nn::Linear<double> model(mt::full<double>({1, 1}, 1).set_requires_grad());
  mt::optim::Adam<double> adam(model, {.lr = 0.01});
  for (int step = 0; step < 2000; ++step) {
    adam.zero_grad();
    mt::mean(loss(model(x) - y)).backward();
    adam.step();
  }
  return model.weight.item();
}

}  // namespace

int main(int argc, char** argv) {
  support::Program program("own_eigen_op", "An operation of one's own, with Eigen.", {&part});
  return program.run(argc, argv, [&](support::Report& report) {
    report.begin(part);
    const std::vector<mt::Tensor<double>> inputs{mt::tensor<double>({{0.5, -1, 2}, {3, 0.25, -0.75}}).set_requires_grad(),
                                                 mt::tensor<double>({1, 2, 0.5}).set_requires_grad()};
    const auto f = [](const std::vector<mt::Tensor<double>>& in) { return cauchy(in[0], in[1]); };
    mt::gradcheck(f, inputs);  // throws where a gradient is wrong
    report.check("gradient", true);
    mt::gradgradcheck(f, inputs);
    report.check("second", true);
    const auto one = mt::ones<double>({1});
    report.check("robust_weight", fit([&](const auto& error) { return cauchy(error, one); }), 2.0, 0.01);
    report.differs("square_weight", fit([](const auto& error) { return mt::square(error); }), 2.0, 0.5);
    report.end();
  });
}
