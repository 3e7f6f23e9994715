// Matrix products: every rank, transpose and broadcast, with first and second derivatives.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/autograd.hpp>

#include <cmath>
#include <vector>

#include "../catch.hpp"

namespace mt = minitorch;

namespace {

mt::Tensor<double> wave(const mt::Shape& shape, double k) {
  auto x = mt::compute<double>("wave", shape, [&](double* out) {
    for (std::int64_t i = 0; i < shape.numel(); ++i) out[i] = std::sin(k * static_cast<double>(i) + k);
  });
  return x.set_requires_grad();
}

void check(const mt::Shape& a, const mt::Shape& b, const mt::Shape& expected, mt::Transposes transpose = {}) {
  INFO("a " << mt::concat(a) << " b " << mt::concat(b) << " transposed " << transpose.a << transpose.b);
  const auto product = [&](const std::vector<mt::Tensor<double>>& in) { return mt::matmul(in[0], in[1], transpose); };
  const std::vector<mt::Tensor<double>> inputs{wave(a, 0.7), wave(b, 1.3)};
  CHECK(product(inputs).shape() == expected);
  CHECK_NOTHROW(mt::gradcheck(product, inputs));
  CHECK_NOTHROW(mt::gradgradcheck(product, inputs));
}

}  // namespace

TEST_CASE("BC08 matmul of every rank, gradients in the shape of the operands") {
  check({3}, {3}, {});
  check({2, 3}, {3}, {2});
  check({3}, {3, 2}, {2});
  check({4, 2, 3}, {3}, {4, 2});
  check({2, 3}, {3, 4}, {2, 4});
  check({5, 2, 3}, {3, 4}, {5, 2, 4});
  check({5, 2, 3}, {5, 3, 4}, {5, 2, 4});
}

TEST_CASE("BC07 matmul with broadcast batches") {
  check({5, 1, 2, 3}, {4, 3, 2}, {5, 4, 2, 2});
  check({2, 3}, {4, 3, 2}, {4, 2, 2});
  check({4, 2, 3}, {1, 3, 2}, {4, 2, 2});
}

TEST_CASE("matmul with transposes as flags") {
  check({3, 2}, {3, 4}, {2, 4}, {true, false});
  check({2, 3}, {4, 3}, {2, 4}, {false, true});
  check({3, 2}, {4, 3}, {2, 4}, {true, true});
  check({5, 3, 2}, {5, 4, 3}, {5, 2, 4}, {true, true});
  check({5, 3, 2}, {4, 3}, {5, 2, 4}, {true, true});
}

TEST_CASE("ZS03 ZS04 a product over nothing is zero, and so are its gradients") {
  auto a = mt::zeros<double>({2, 0}).set_requires_grad();
  auto b = mt::zeros<double>({0, 3}).set_requires_grad();
  const auto c = mt::matmul(a, b);
  REQUIRE(c.shape() == mt::Shape{2, 3});
  for (double value : c.values()) CHECK(value == 0.0);
  mt::sum_to(c, {}).backward();
  CHECK(a.grad().shape() == mt::Shape{2, 0});
  CHECK(b.grad().shape() == mt::Shape{0, 3});
}

TEST_CASE("RU02 RU03 a matrix times itself") {
  auto x = mt::tensor<double>({{1, 2}, {3, 4}}).set_requires_grad();
  mt::sum_to(mt::matmul(x, x), {}).backward();
  CHECK(mt::to_string(x.grad()) == "[[7, 11],\n [9, 13]]");
  x.zero_grad();
  mt::sum_to(mt::matmul(x, x, {false, true}), {}).backward();
  CHECK(mt::to_string(x.grad()) == "[[8, 12],\n [8, 12]]");
}

TEST_CASE("shapes that do not fit are an error with both in it") {
  CHECK_THROWS_WITH(mt::matmul(mt::ones<double>({3, 4}), mt::ones<double>({5, 2})),
                    "matmul: a.cols must equal b.rows, got a [3, 4] and b [5, 2]");
  CHECK_THROWS_AS(mt::matmul(mt::ones<double>({}), mt::ones<double>({1})), mt::ShapeError);
}

TEST_CASE("a narrow left and a float right: narrow result, float gradient for the right") {
  const auto x = mt::tensor<float>({{1, 2}, {3, 4}}).to<mt::bfloat16>();
  auto w = mt::tensor<float>({{1, 2}, {3, 4}}).set_requires_grad();
  const mt::Tensor<mt::bfloat16> y = mt::matmul(x, w, {false, true});
  mt::sum_to(y, {}).backward();
  CHECK(mt::to_string(w.grad()) == "[[4, 6],\n [4, 6]]");
}
