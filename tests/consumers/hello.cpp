// The smallest consumer: a tensor, an operation, a number.
// SPDX-License-Identifier: MIT
#include <minitorch/minitorch.hpp>

int main() {
  const auto ones = minitorch::ones<float>({2, 3});
  return minitorch::sum(ones).item() == 6 && MINITORCH_VERSION_MAJOR == 0 ? 0 : 1;
}
