// What every way of using the library builds: a regression that ends near y = 2 x + 1.
// SPDX-License-Identifier: MIT
#include <minitorch/minitorch.hpp>

#include <cmath>

namespace mt = minitorch;

int main() {
  const auto x = mt::arange<float>(1, 6).reshape({5, 1});
  const auto y = 2.0f * x + 1.0f;
  mt::nn::Linear<float> model(1, 1);
  mt::optim::SGD<float> sgd(model, {.lr = 0.05});
  for (int step = 0; step < 2000; ++step) {
    const auto loss = mt::mse_loss(model(x), y);
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  return std::abs(model.weight.item() - 2) < 0.01f && MINITORCH_VERSION_MAJOR == 0 ? 0 : 1;
}
