// Tensors as text.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/print.hpp>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

TEST_CASE("brackets, digits and types") {
  CHECK(mt::to_string(mt::scalar<double>(0.1)) == "0.1");
  CHECK(mt::to_string(mt::tensor<float>({1, 0.1f, -2})) == "[1, 0.1, -2]");
  CHECK(mt::to_string(mt::tensor<double>({{1, 2}, {3, 4}})) == "[[1, 2],\n [3, 4]]");
  CHECK(mt::to_string(mt::tensor<std::int64_t>({1, -2})) == "[1, -2]");
  CHECK(mt::to_string(mt::tensor<bool>({true, false})) == "[true, false]");
  CHECK(mt::to_string(mt::tensor<mt::bfloat16>({mt::bfloat16(1.5f)})) == "[1.5]");
  CHECK(mt::to_string(mt::zeros<double>({0})) == "[]");
  CHECK(mt::to_string(mt::zeros<double>({2, 0})) == "[[],\n []]");
}

TEST_CASE("long dimensions are cut in the middle") {
  CHECK(mt::to_string(mt::arange<double>(0, 6)) == "[0, 1, 2, 3, 4, 5]");
  CHECK(mt::to_string(mt::arange<double>(0, 7)) == "[0, 1, 2, ..., 4, 5, 6]");
  CHECK(mt::to_string(mt::arange<double>(0, 1000)) == "[0, 1, 2, ..., 997, 998, 999]");
}
