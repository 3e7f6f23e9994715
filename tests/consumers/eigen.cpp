// Column-major matrices from tensors: Eigen transposes with all the instructions that the consumer's flags allow.
// SPDX-License-Identifier: MIT
#include <minitorch/io/eigen.hpp>

int main() {
  const auto x = minitorch::ones<double>({64, 3});
  const Eigen::MatrixXd columns = minitorch::eigen_map(x);
  const Eigen::MatrixXf products = minitorch::eigen_map(minitorch::ones<float>({64, 64})) * columns.cast<float>();
  return columns.sum() == 192 && products(63, 2) == 64 ? 0 : 1;
}
