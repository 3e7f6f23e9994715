// What every way of using the library builds: names a shape and asks for its size.
// SPDX-License-Identifier: MIT
#include <minitorch/core/shape.hpp>
#include <minitorch/version.hpp>

int main() {
  const minitorch::Shape shape{2, 3};
  return shape.numel() == 6 && MINITORCH_VERSION_MAJOR == 0 ? 0 : 1;
}
