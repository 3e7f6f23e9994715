// fuse: by expect_op, with one, two and three inputs; numbers inside the function; the third derivative is an error.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/fuse.hpp>
#include <minitorch/ops/mul.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::Tensor;
using tests::spread;

TEST_CASE("fuse: a gate") {
  const auto gate = [](const auto& p, const auto& q) { return mt::fuse([](auto a, auto b) { return a * sigmoid(b); }, p, q); };
  tests::expect_op(
      {.saved = 2}, gate, [](double a, double b) { return a / (1 + std::exp(-b)); }, spread({3, 4}), spread({3, 4}, -2, 2, 2));
}

TEST_CASE("fuse: one input, a number inside, a choice") {
  const double slope = 0.1;
  const auto f = [slope](const auto& x) { return mt::fuse([slope](auto a) { return select(a > 0, exp(a) - 1, slope * a * a); }, x); };
  tests::expect_op(
      {.tolerance = 1e-12, .saved = 1}, f, [slope](double a) { return a > 0 ? std::expm1(a) : slope * a * a; }, spread({5, 7}));
}

TEST_CASE("fuse: a zero coming in stays zero, third derivatives are an error") {
  auto x = mt::scalar<double>(0);
  x.set_requires_grad();
  const auto root = [](const auto& in) { return mt::fuse([](auto a) { return sqrt(a); }, in); };
  root(x).backward(mt::scalar<double>(0));
  CHECK(x.grad().item() == 0);

  auto y = mt::scalar<double>(4);
  y.set_requires_grad();
  const auto first = mt::grad(root(y), y, {.create_graph = true});
  const auto second = mt::grad(first, y, {.create_graph = false, .allow_unused = false});
  CHECK(first.item() == 0.25);
  CHECK(second.item() == -0.03125);
  const auto again = mt::grad(root(y), y, {.create_graph = true});
  CHECK_THROWS_WITH(mt::grad(again, y, {.create_graph = true}), Catch::Contains("third"));
}
