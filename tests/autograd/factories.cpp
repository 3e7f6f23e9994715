// New tensors.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/factories.hpp>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

TEST_CASE("patterns") {
  CHECK(numbers(mt::full<float>({2}, 3)) == Numbers{3, 3});
  CHECK(numbers(mt::arange<double>(1, 6)) == Numbers{1, 2, 3, 4, 5});
  CHECK(numbers(mt::arange<double>(0, 1, 0.25)) == Numbers{0, 0.25, 0.5, 0.75});
  CHECK(numbers(mt::arange<std::int64_t>(5, 0, -2)) == Numbers{5, 3, 1});
  CHECK(mt::arange<double>(3, 3).numel() == 0);
  CHECK_THROWS_AS(mt::arange<double>(0, 1, 0), mt::ArgumentError);
  CHECK_THROWS_AS(mt::arange<double>(0, 1, -1), mt::ArgumentError);
  CHECK(mt::zeros_like(mt::ones<mt::half>({2, 3})).shape() == mt::Shape{2, 3});
}

TEST_CASE("values") {
  CHECK(mt::tensor<double>({{1, 2}, {3, 4}}).shape() == mt::Shape{2, 2});
  CHECK_THROWS_AS(mt::tensor<double>({{1, 2}, {3}}), mt::ShapeError);
  const std::vector<float> values{1, 2, 3};
  CHECK(numbers(mt::from_values<float>(values, {3, 1})) == Numbers{1, 2, 3});
  CHECK_THROWS_AS(mt::from_values<float>(values, {2}), mt::ShapeError);
  CHECK_THROWS_AS(mt::zeros<double>({-1}), mt::ShapeError);
}
