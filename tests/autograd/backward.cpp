// backward() and grad(): what may be asked for, and what comes back.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/backward.hpp>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

TEST_CASE("EN08 EN10 backward twice needs what was saved") {
  const auto a = leaf(mt::tensor<double>({1, 2}));
  const auto y = sum(mul(a, a));
  y.backward({.retain_graph = true});
  y.backward();
  CHECK(numbers(a.grad()) == Numbers{4, 8});
  CHECK_THROWS_WITH(y.backward(), Catch::Contains("freed by an earlier backward") && Catch::Contains("mul"));
}

TEST_CASE("EN09 backward twice when nothing is saved") {
  const auto a = leaf(mt::tensor<double>({1, 2}));
  const auto y = sum(mt::add(a, a));
  y.backward();
  y.backward();
  CHECK(numbers(a.grad()) == Numbers{4, 4});
}

TEST_CASE("EN11 EN12 EN14 seeds") {
  const auto a = leaf(mt::tensor<double>({1, 2}));
  const auto y = mt::add(a, a);
  CHECK_THROWS_AS(y.backward(), mt::GraphError);
  CHECK_THROWS_WITH(y.backward(mt::ones<double>({3})), Catch::Contains("[3]") && Catch::Contains("[2]"));
  CHECK_THROWS_AS(mt::ones<double>({1}).backward(), mt::GraphError);
  const auto one = scale(leaf(mt::ones<double>({1, 1})), 3);
  CHECK_NOTHROW(one.backward());
  CHECK_THROWS_AS(mt::Tensor<double>{}.backward(), mt::Error);
}

TEST_CASE("EN18 an input that is not used") {
  const auto a = leaf(mt::tensor<double>({1, 2})), b = leaf(mt::tensor<double>({1, 2}));
  const auto y = sum(scale(a, 2));
  CHECK_THROWS_WITH(mt::grad(y, b), Catch::Contains("allow_unused"));
  CHECK_FALSE(mt::grad(y, b, {.allow_unused = true}).defined());
  CHECK_THROWS_AS(mt::grad(y, a.detach()), mt::GraphError);
}

TEST_CASE("EN22 second and third derivatives") {
  const auto x = leaf(mt::scalar<double>(3));
  const auto first = mt::grad(mul(mul(x, x), x), x, {.create_graph = true});
  const auto second = mt::grad(first, x, {.create_graph = true});
  CHECK(first.item() == 27);
  CHECK(second.item() == 18);
  CHECK(mt::grad(second, x).item() == 6);
}

TEST_CASE("EN23 a gradient with a graph can be let go of") {
  const NothingLeft left;
  {
    auto x = leaf(mt::tensor<double>({0.5, 1}));
    std::int64_t flat = 0;
    for (int i = 0; i < 100000; ++i) {
      sum(tanh(x)).backward({.create_graph = true});
      x.zero_grad();
      if (i == 10) flat = mt::live_bytes();
    }
    CHECK(mt::live_bytes() == flat);
  }
  CHECK(left.bytes() == 0);
}

TEST_CASE("a gradient with a graph is not written to by a later pass") {
  auto x = leaf(mt::scalar<double>(3));
  mul(mul(x, x), x).backward({.create_graph = true});
  const auto g = x.grad();  // 27, a function of x
  const auto penalty = mul(g, g);
  penalty.backward();  // adds 2 g g' = 2 * 27 * 18 to x's gradient; needs g as it was
  CHECK(g.item() == 27);
  CHECK(x.grad().item() == 27 + 2 * 27 * 18);
  CHECK_FALSE(x.grad().requires_grad());
}

TEST_CASE("gradients of several outputs with seeds") {
  const auto x = leaf(mt::tensor<double>({1, 2}));
  const std::vector<mt::Tensor<double>> outputs{mul(x, x), scale(x, 3)},
      seeds{mt::tensor<double>({1, 10}), mt::tensor<double>({100, 1000})};
  CHECK(numbers(mt::grad<double>(outputs, std::span(&x, 1), seeds)[0]) == Numbers{302, 3040});
  CHECK_THROWS_AS(mt::grad<double>(outputs, std::span(&x, 1), std::span(seeds).first(1)), mt::ArgumentError);
}

TEST_CASE("the leaf's gradient never shares memory with a seed or another leaf's") {
  const auto a = leaf(mt::tensor<double>({1, 2})), b = leaf(mt::tensor<double>({3, 4}));
  const auto seed = mt::ones<double>({2});
  mt::add(a, b).backward(seed);
  a.grad().mutable_data()[0] = 50;
  CHECK(numbers(seed) == Numbers{1, 1});
  CHECK(numbers(b.grad()) == Numbers{1, 1});
}
