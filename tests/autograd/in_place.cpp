// Writing in place: what is refused, what takes part in the graph, what a version catches.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/in_place.hpp>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

TEST_CASE("EN01 in place after an operation that saved its input only") {
  const auto x = leaf(mt::tensor<double>({1, 2}));
  auto y = mul(x, x);
  y.add_(mt::scalar<double>(1));
  CHECK(numbers(y) == Numbers{2, 5});
  sum(y).backward();
  CHECK(numbers(x.grad()) == Numbers{2, 4});
}

TEST_CASE("EN02 in place on a result that was saved") {
  const auto a = leaf(mt::scalar<double>(1));
  auto y = exp(a);
  y.add_(mt::scalar<double>(1));
  CHECK_THROWS_WITH(y.backward(), Catch::Contains("exp") && Catch::Contains("version 1") && Catch::Contains("version 0"));
}

TEST_CASE("EN04 in place on a leaf that wants its gradient") {
  auto a = leaf(mt::scalar<double>(1));
  CHECK_THROWS_AS(a.add_(mt::scalar<double>(1)), mt::GraphError);
  CHECK_THROWS_AS(a.fill_(3), mt::GraphError);
  CHECK_THROWS_AS(a.copy_(mt::scalar<double>(1)), mt::GraphError);
  CHECK_THROWS_AS(a.mutable_data(), mt::GraphError);
  CHECK(a.item() == 1);
  const mt::NoGrad guard;
  a.add_(mt::scalar<double>(1));
  CHECK(a.item() == 2);
  CHECK(a.requires_grad());
}

TEST_CASE("EN05 an optimizer's update between forward and backward") {
  auto a = leaf(mt::scalar<double>(3));
  const auto y = mul(a, a);
  mt::no_grad([&] { a.add_(mt::scalar<double>(1)); });
  CHECK_THROWS_WITH(y.backward(), Catch::Contains("modified in place"));
  CHECK_FALSE(a.grad().defined());
}

TEST_CASE("EN27 a clone that is written to") {
  const auto a = leaf(mt::tensor<double>({1, 2}));
  auto c = a.clone();
  c.copy_(mul(c, mt::tensor<double>({0, 1})));
  c.add_(mt::tensor<double>({7, 0}));
  CHECK(numbers(c) == Numbers{7, 2});
  sum(c).backward();
  CHECK(numbers(a.grad()) == Numbers{0, 1});
}

TEST_CASE("all handles see the new value and its new place in the graph") {
  const auto x = leaf(mt::scalar<double>(2));
  auto y = mul(x, x);
  const auto same = y;
  y.add_(x);
  CHECK(same.item() == 6);
  same.backward();
  CHECK(x.grad().item() == 5);
}

TEST_CASE("a tensor added to and copied from itself") {
  const auto x = leaf(mt::scalar<double>(2));
  auto y = scale(x, 3);
  y.add_(y);
  y.copy_(y);
  CHECK(y.item() == 12);
  y.backward();
  CHECK(x.grad().item() == 6);
}

TEST_CASE("a chain in place is freed, with and without backward") {
  const NothingLeft left;
  {
    const auto x = leaf(mt::ones<double>({100}));
    auto y = mul(x, x);
    for (int i = 0; i < 100; ++i) {
      const auto h = mul(x, x);
      y.add_(h);
      y.add_(mul(y, x).detach());
    }
  }
  CHECK(left.bytes() == 0);
}

TEST_CASE("copy_ makes a value of its own") {
  const auto s = leaf(mt::scalar<double>(2));
  auto x = mt::scalar<double>(0);
  auto source = mul(s, s);
  x.copy_(source);
  double seen = 0;
  x.register_hook([&](const mt::Tensor<double>& g) { return seen = g.item(), mt::Tensor<double>{}; });
  mt::add(scale(x, 3), scale(source, 10)).backward();
  CHECK(seen == 3);
  CHECK(s.grad().item() == 13 * 4);
}

TEST_CASE("shared memory is not written to while gradients are recorded") {
  const auto x = leaf(mt::tensor<double>({1, 2, 3}));
  auto y = mul(x, x);
  auto part = y.slice(0, 2);
  CHECK_THROWS_WITH(part.add_(mt::scalar<double>(1)), Catch::Contains("shares memory"));
  CHECK_THROWS_AS(y.add_(mt::scalar<double>(1)), mt::GraphError);
  auto plain = mt::zeros<double>({3});
  auto view = plain.reshape({3, 1});
  CHECK_THROWS_AS(view.copy_(x.reshape({3, 1})), mt::GraphError);  // x's gradient would have to flow through plain
  view.add_(mt::scalar<double>(1));                                // without gradients it is memory
  CHECK(numbers(plain) == Numbers{1, 1, 1});
}

TEST_CASE("a write through one view makes what was saved of another stale") {
  const auto w = leaf(mt::tensor<double>({1, 2}));
  auto memory = mt::tensor<double>({3, 4, 5, 6});
  const auto y = sum(mul(w, memory.slice(0, 2)));
  memory.slice(2, 4).fill_(0);  // one version a buffer: on the safe side
  CHECK_THROWS_AS(y.backward(), mt::GraphError);
  const auto z = sum(mul(w, memory.slice(0, 2)));
  memory.detach().mutable_data()[0] = 7;
  CHECK_THROWS_AS(z.backward(), mt::GraphError);
}

TEST_CASE("filling cuts the history") {
  const auto x = leaf(mt::scalar<double>(2));
  auto y = mul(x, x);
  y.fill_(5);
  CHECK_FALSE(y.requires_grad());
  CHECK_THROWS_AS(y.add_(mt::ones<double>({3})), mt::ShapeError);
  CHECK(y.item() == 5);
}
