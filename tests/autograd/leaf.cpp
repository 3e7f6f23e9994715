// Leaves, retained gradients and the hooks of tensors.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/leaf.hpp>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

TEST_CASE("EN15 the gradient of an inner tensor is kept when asked for") {
  const auto a = leaf(mt::scalar<double>(3));
  auto y = scale(a, 2);
  y.backward();
  CHECK_FALSE(y.grad().defined());
  y.retain_grad();
  mul(y, y).backward();
  CHECK(y.grad().item() == 12);
  CHECK(a.grad().item() == 2 + 24);
}

TEST_CASE("EN19 a hook replaces the gradient") {
  auto a = leaf(mt::scalar<double>(1));
  auto y = scale(a, 3);
  y.register_hook([](const mt::Tensor<double>& g) { return scale(g, 10); });
  y.backward();
  CHECK(a.grad().item() == 30);
  y.register_hook([](const mt::Tensor<double>&) { return mt::ones<double>({2}); });
  CHECK_THROWS_WITH(y.backward(), Catch::Contains("hook"));
}

TEST_CASE("EN20 hooks see the whole gradient once") {
  auto a = leaf(mt::scalar<double>(2));
  auto y = mul(a, a);
  Numbers seen;
  const auto look = [&](const mt::Tensor<double>& g) { return seen.push_back(g.item()), mt::Tensor<double>{}; };
  y.register_hook(look);
  a.register_hook(look);
  mt::add(y, y).backward();
  CHECK(seen == Numbers{2, 8});
  CHECK(a.grad().item() == 8);
}

TEST_CASE("hooks run in their order; one registered by a hook waits for the next pass") {
  auto a = leaf(mt::scalar<double>(1));
  Numbers seen;
  a.register_hook([&](const mt::Tensor<double>& g) {
    for (int i = 0; i < 100; ++i) a.register_hook([&](const mt::Tensor<double>&) { return seen.push_back(7), mt::Tensor<double>{}; });
    return scale(g, 2);
  });
  a.register_hook([&](const mt::Tensor<double>& g) { return seen.push_back(g.item()), mt::Tensor<double>{}; });
  scale(a, 3).backward();
  CHECK(seen == Numbers{6});
  CHECK(a.grad().item() == 6);
  a.register_post_accumulate_hook([] {});
}

TEST_CASE("a hook after the gradient has been added: an optimizer inside the backward pass") {
  auto a = leaf(mt::scalar<double>(10));
  int calls = 0;
  a.register_post_accumulate_hook([&] {
    ++calls;
    const mt::NoGrad guard;
    a.mutable_data()[0] -= a.grad().item();
    a.zero_grad();
  });
  const auto y = scale(a, 2);
  mt::add(y, scale(a, 1)).backward();
  CHECK(calls == 1);
  CHECK(a.item() == 7);
  CHECK_FALSE(a.grad().defined());
  (void)mt::grad(scale(a, 5), a);  // grad() leaves the leaf alone
  CHECK(calls == 1);
  auto inner = scale(a, 2);
  CHECK_THROWS_AS(inner.register_post_accumulate_hook([] {}), mt::GraphError);
}

TEST_CASE("the gradient can be set and cleared") {
  auto a = leaf(mt::tensor<double>({1, 2}));
  a.set_grad(mt::tensor<double>({10, 20}));
  sum(a).backward();
  CHECK(numbers(a.grad()) == Numbers{11, 21});
  CHECK_THROWS_AS(a.set_grad(mt::ones<double>({3})), mt::ShapeError);
  a.zero_grad();
  CHECK_FALSE(a.grad().defined());
  auto plain = mt::ones<double>({2});
  CHECK_NOTHROW(plain.zero_grad());
  CHECK_THROWS_AS(plain.set_grad(mt::ones<double>({2})), mt::GraphError);
  CHECK_THROWS_AS(plain.register_hook([](const mt::Tensor<double>&) { return mt::Tensor<double>{}; }), mt::GraphError);
  CHECK_THROWS_AS(plain.retain_grad(), mt::GraphError);
}

TEST_CASE("a gradient is added to where it lies: a slice of a bucket") {
  auto bucket = mt::zeros<double>({4});
  auto a = leaf(mt::tensor<double>({1, 2})), b = leaf(mt::tensor<double>({3, 4}));
  a.set_grad(bucket.slice(0, 2));
  b.set_grad(bucket.slice(2, 4));
  sum(mul(a, b)).backward();
  CHECK(numbers(bucket) == Numbers{3, 4, 1, 2});
  sum(mul(mt::matmul(a.reshape({1, 2}), b.reshape({2, 1})), mt::ones<double>({1, 1}))).backward();
  CHECK(numbers(bucket) == Numbers{6, 8, 2, 4});
}

TEST_CASE("only a tensor without history becomes a leaf") {
  auto a = leaf(mt::scalar<double>(2));
  auto y = mul(a, a);
  CHECK_THROWS_AS(y.set_requires_grad(false), mt::GraphError);
  a.set_requires_grad(false);
  CHECK_FALSE(a.requires_grad());
  y.backward();  // the graph outlives that
  CHECK_FALSE(a.grad().defined());
}

TEMPLATE_TEST_CASE("EM05 HP22 gradients of narrow leaves add up in float", "", mt::half, mt::bfloat16) {
  auto x = leaf(mt::scalar<TestType>(TestType(1)));
  for (int i = 0; i < 300; ++i) scale(x, 1).backward();
  CHECK(std::same_as<decltype(x.grad()), mt::Tensor<float>>);
  CHECK(x.grad().item() == 300);

  auto y = leaf(mt::scalar<TestType>(TestType(1)));  // and inside one pass: 1 + 2^-12 + ... rounds once
  auto total = scale(y, 1);
  auto inner = scale(y, 1);
  for (int i = 0; i < 300; ++i) total = mt::add(total, scale(inner, 1));
  total.backward();
  CHECK(y.grad().item() == static_cast<float>(TestType(300.0f)) + 1);
}
