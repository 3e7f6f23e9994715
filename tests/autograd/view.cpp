// Views: shared memory, gradients through them, what they refuse.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/view.hpp>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

TEST_CASE("reshape and slice share, clone copies") {
  const auto x = mt::tensor<double>({{1, 2, 3}, {4, 5, 6}});
  CHECK(x.reshape({3, 2}).data() == x.data());
  CHECK(x.slice(1, 2).data() == x.data() + 3);
  CHECK(x[1][2].item() == 6);
  CHECK(x.clone().data() != x.data());
  CHECK(x.reshape({-1}).shape() == mt::Shape{6});
  CHECK(x.reshape({1, -1, 2}).shape() == mt::Shape{1, 3, 2});
  CHECK(x.slice(1, 1).shape() == mt::Shape{0, 3});
}

TEST_CASE("what does not fit") {
  const auto x = mt::ones<double>({2, 3});
  CHECK_THROWS_WITH(x.reshape({4}), Catch::Contains("[2, 3]") && Catch::Contains("[4]"));
  CHECK_THROWS_AS(x.reshape({-1, 4}), mt::ShapeError);
  CHECK_THROWS_AS(x.reshape({-1, -1}), mt::ShapeError);
  CHECK_THROWS_AS(mt::ones<double>({0}).reshape({-1, 0}), mt::ShapeError);
  CHECK_THROWS_AS(x.slice(1, 3), mt::ArgumentError);
  CHECK_THROWS_AS(x.slice(2, 1), mt::ArgumentError);
  CHECK_THROWS_AS(x[2], mt::ArgumentError);
  CHECK_THROWS_AS(mt::scalar<double>(1).slice(0, 1), mt::ShapeError);
  CHECK_THROWS_AS(mt::scalar<double>(1)[0], mt::ShapeError);
}

TEMPLATE_TEST_CASE("gradients of slices meet in the whole", "", double, float, mt::half, mt::bfloat16) {
  using T = TestType;
  const NothingLeft left;
  {
    const auto x = leaf(mt::arange<T>(1, 7).reshape({3, 2}));
    auto whole = scale(x, 1);
    sum(mt::add(mul(whole.slice(0, 2), whole.slice(1, 3)), whole[0])).backward();
    CHECK(numbers(x.grad()) == Numbers{3 + 2, 4 + 2, 1 + 5, 2 + 6, 3, 4});
  }
  CHECK(left.bytes() == 0);
}

TEST_CASE("second derivatives through views") {
  const auto f = [](const std::vector<mt::Tensor<double>>& in) {
    const auto x = mul(in[0], in[0]);
    return mul(x.reshape({2, 3}).slice(1, 2), x.slice(0, 3)).clone();
  };
  const std::vector<mt::Tensor<double>> inputs{leaf(mt::tensor<double>({0.3, -1, 2, 1.5, 0.7, -0.4}))};
  CHECK_NOTHROW(mt::gradcheck(f, inputs));
  CHECK_NOTHROW(mt::gradgradcheck(f, inputs));
}
