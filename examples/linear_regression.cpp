// Fits y = 2 x + 1 by gradient descent: a module, a loss, backward, an optimizer. Run: scripts/demo linear_regression.
// SPDX-License-Identifier: MIT
// Prints the loss before and after, and the weight and the bias beside 2 and 1.
#include <examples/support/program.hpp>
#include <minitorch/minitorch.hpp>

namespace mt = minitorch;

namespace {
const support::Part fit{"fit",
                        "A line through five points",
                        {{"first_loss", "mean squared error before the first step"},
                         {"last_loss", "mean squared error after the last step"},
                         {"weight", "slope of the line"},
                         {"bias", "its value at zero"}}};
}  // namespace

int main(int argc, char** argv) {
  std::int64_t steps = 2000;
  double lr = 0.05;
  support::Program program("linear_regression", "Fits y = 2 x + 1 by gradient descent.", {&fit});
  program.flag("--steps", steps, "Gradient steps", 1, 1000000);
  program.flag("--lr", lr, "Learning rate", 0, 1);

  return program.run(argc, argv, [&](support::Report& report) {
    report.begin(fit);
    const auto x = mt::arange<double>(1, 6).reshape({5, 1});
    const auto y = 2.0 * x + 1.0;
    mt::nn::Linear<double> model(1, 1);
    mt::optim::SGD<double> sgd(model, {.lr = lr});
    report.show("first_loss", mt::mse_loss(model(x), y).item());
    for (std::int64_t step = 0; step < steps; ++step) {
      const auto loss = mt::mse_loss(model(x), y);
      sgd.zero_grad();
      loss.backward();
      sgd.step();
    }
    report.show("last_loss", mt::mse_loss(model(x), y).item());
    report.check("weight", model.weight.item(), 2.0, 1e-3);
    report.check("bias", model.bias.item(), 1.0, 1e-3);
    report.end();
  });
}
