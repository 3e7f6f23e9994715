// Shows two ways to an operation of one's own: record(), with rules written by hand, and fuse(), whose derivative is derived.
// SPDX-License-Identifier: MIT

// Run: scripts/demo custom_op [--beta 1.5] [--steps 300] [--json]
// Prints the checks of both (derivatives against differences, values against compositions) and a beta that was learnt.

#include <cmath>
#include <string>
#include <vector>

#include <examples/support/program.hpp>
#include <minitorch/minitorch.hpp>

namespace mt = minitorch;

namespace {

// value     x sigmoid(beta x), the Swish of Ramachandran, Zoph and Le (arXiv:1710.05941); beta is one number
// gradient  dx = dy (s + beta x s (1 - s)), dbeta = the sum of dy x^2 s (1 - s), with s = sigmoid(beta x)
// saves     x and beta
template <mt::Scalar T>
mt::Tensor<T> swish(const mt::Tensor<T>& x, const mt::Tensor<T>& beta) {
  const auto slope = static_cast<mt::compute_t<T>>(beta.item());
  return mt::record<T>(
      "swish", x.shape(),
      // The forward pass fills the result; map() runs the function on whole vectors.
      [&](T* out) {
        mt::kernels::map(
            x.numel(), [slope](const auto& v) { return v * mt::kernels::sigmoid(slope * v); }, out, x.data());
      },
      // A rule gets dy and what is listed after it. It captures nothing.
      mt::wrt(
          x,
          [](const mt::Tensor<T>& dy, const mt::Tensor<T>& v, const mt::Tensor<T>& b) {
            const auto s = mt::sigmoid(b * v);
            return mt::grad_mul(dy, s + b * v * s * (1 - s));
          },
          x, beta),
      // The shape of dy will do: what was broadcast is summed by the engine.
      mt::wrt(
          beta,
          [](const mt::Tensor<T>& dy, const mt::Tensor<T>& v, const mt::Tensor<T>& b) {
            const auto s = mt::sigmoid(b * v);
            return mt::grad_mul(dy, mt::square(v) * s * (1 - s));
          },
          x, beta));
}

// A gated linear unit (Dauphin et al., arXiv:1612.08083): one pass forward, one backward, no rule.
template <mt::Scalar T>
mt::Tensor<T> gated(const mt::Tensor<T>& a, const mt::Tensor<T>& b) {
  return mt::fuse([](auto u, auto v) { return u * sigmoid(v); }, a, b);
}

using Inputs = std::vector<mt::Tensor<double>>;

// Whether first and second derivatives agree with differences.
template <class F>
std::string derivatives(F f, const Inputs& inputs) {
  try {
    mt::gradcheck(f, inputs);
    mt::gradgradcheck(f, inputs);
    return "as differences";
  } catch (const mt::GraphError& error) {
    return error.what();
  }
}

double largest_difference(const mt::Tensor<double>& a, const mt::Tensor<double>& b) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) largest = std::max(largest, std::abs(a.data()[i] - b.data()[i]));
  return largest;
}

const support::Part part{"custom_op",
                         "Operations of one's own",
                         {{"record_derivatives", "swish by record(): first and second derivatives"},
                          {"record_value", "its difference from x * sigmoid(beta * x)"},
                          {"learnt_beta", "beta learnt from values of swish"},
                          {"fuse_derivatives", "gate by fuse(): first and second derivatives"},
                          {"fuse_value", "its difference from a * sigmoid(b)"}}};

}  // namespace

int main(int argc, char** argv) {
  double beta = 1.5;
  int steps = 300;
  support::Program program("custom_op", "An operation by record() and one by fuse(), checked and used.", {&part});
  program.flag("beta", beta, "The beta to be learnt", 0.1, 2.0);
  program.flag("steps", steps, "Steps of Adam from beta = 1", 1, 100000);
  return program.run(argc, argv, [&](support::Report& report) {
    report.begin(part);
    auto x = mt::tensor<double>({{-3, -1.5, -0.25}, {0.5, 1.25, 4}}).set_requires_grad();
    auto y = mt::tensor<double>({{2, -1, 0.75}, {-0.5, 3, 1.5}}).set_requires_grad();
    auto b = mt::scalar<double>(1.25).set_requires_grad();

    report.check("record_derivatives", derivatives([](const Inputs& in) { return swish(in[0], in[1]); }, {x, b}), "as differences");
    report.at_most("record_value", largest_difference(swish(x, b), x * mt::sigmoid(b * x)), 1e-14);
    const auto target = swish(x, mt::scalar<double>(beta)).detach();
    auto guess = mt::scalar<double>(1).set_requires_grad();
    mt::optim::Adam<double> adam(std::vector{guess}, {.lr = 0.05});
    for (int step = 0; step < steps; ++step) {
      adam.zero_grad();
      mt::mse_loss(swish(x.detach(), guess), target).backward();
      adam.step();
    }
    report.check("learnt_beta", guess.item(), beta, 0.01);

    report.check("fuse_derivatives", derivatives([](const Inputs& in) { return gated(in[0], in[1]); }, {x, y}), "as differences");
    report.at_most("fuse_value", largest_difference(gated(x, y), x * mt::sigmoid(y)), 1e-14);
  });
}
