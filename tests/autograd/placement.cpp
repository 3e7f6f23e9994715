// Ranges, rows and the lazy gradients that undo them, against their materialised forms.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/placement.hpp>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

TEST_CASE("ranges along any dimension") {
  const auto x = mt::arange<double>(0, 24).reshape({2, 3, 4});
  CHECK(numbers(mt::take_range(x, 1, 1, 1)) == Numbers{4, 5, 6, 7, 16, 17, 18, 19});
  CHECK(numbers(mt::take_range(x, -1, 3, 1)) == Numbers{3, 7, 11, 15, 19, 23});
  CHECK(mt::take_range(x, 0, 2, 0).shape() == mt::Shape{0, 3, 4});
  CHECK_THROWS_AS(mt::take_range(x, 1, 2, 2), mt::ArgumentError);
  CHECK_THROWS_AS(mt::take_range(x, 3, 0, 1), mt::ShapeError);
}

TEST_CASE("rows by index") {
  const auto x = mt::arange<double>(0, 6).reshape({3, 2});
  const auto index = mt::tensor<std::int64_t>({{2, 0}, {2, 2}});
  const auto y = mt::take_rows(x, index);
  CHECK(y.shape() == mt::Shape{2, 2, 2});
  CHECK(numbers(y) == Numbers{4, 5, 0, 1, 4, 5, 4, 5});
  CHECK_THROWS_WITH(mt::take_rows(x, mt::tensor<std::int64_t>({3})), Catch::Contains("index 3") && Catch::Contains("3 rows"));
  CHECK_THROWS_AS(mt::take_rows(x, mt::tensor<std::int64_t>({-1})), mt::ArgumentError);
  CHECK_THROWS_AS(mt::take_rows(mt::scalar<double>(1), index), mt::ShapeError);
}

TEST_CASE("first and second derivatives") {
  const auto index = mt::tensor<std::int64_t>({1, 1, 0});
  const auto f = [&](const std::vector<mt::Tensor<double>>& in) {
    const auto x = mul(in[0], in[0]);
    return mul(mt::take_range(x, 1, 1, 2),
               mt::take_range(mt::take_rows(x, index), 0, 1, 2).slice(0, 2).reshape({2, 3}).slice(0, 2)[0].slice(0, 2));
  };
  const std::vector<mt::Tensor<double>> inputs{leaf(mt::tensor<double>({{0.3, -1, 2}, {1.5, 0.7, -0.4}}))};
  CHECK_NOTHROW(mt::gradcheck(f, inputs));
  CHECK_NOTHROW(mt::gradgradcheck(f, inputs));
}

// What the engine adds into a destination without making the tensor is the tensor, for every destination that there is.
TEMPLATE_TEST_CASE("lazy gradients are their materialised forms", "", double, mt::bfloat16) {
  using T = TestType;
  const auto check = [](auto f, const mt::Tensor<T>& start) {
    for (const bool inner : {false, true}) {
      const auto x = leaf(start.detach());
      const auto at = inner ? scale(x, 1) : x;
      const auto loss = f(at);
      const auto lazy = mt::grad(loss, at, {.retain_graph = true});
      const auto material = mt::grad(loss, at, {.retain_graph = true, .create_graph = true});
      CHECK(numbers(lazy) == numbers(material));
      loss.backward({.retain_graph = true});
      CHECK(numbers(x.grad()) == numbers(material));
      loss.backward();
      Numbers twice = numbers(material);
      for (double& v : twice) v *= 2;
      CHECK(numbers(x.grad()) == twice);
    }
  };
  const auto x = mt::tensor<T>({{T(1), T(-2), T(3)}, {T(0.5f), T(2), T(-1)}});
  const auto w = mt::tensor<T>({{T(1), T(2)}, {T(-3), T(4)}, {T(0.5f), T(-2)}});
  const auto index = mt::tensor<std::int64_t>({1, 0, 1, 1});
  check([&](const mt::Tensor<T>& a) { return sum(mt::add(mt::take_range(a, 1, 0, 2), mt::take_range(a, 1, 1, 2))); }, x);
  check([&](const mt::Tensor<T>& a) { return sum(mt::take_rows(a, index)); }, x);
  check([&](const mt::Tensor<T>& a) { return sum(mt::matmul(a, w)); }, x);
  check([&](const mt::Tensor<T>& a) { return sum(mt::add(mt::matmul(a, w), mt::matmul(w, a, {true, true}))); }, x);
  check([&](const mt::Tensor<T>& a) { return sum(mul(a.slice(0, 1), a.slice(1, 2))); }, x);
}

TEMPLATE_TEST_CASE("a float parameter under narrow activations receives a gradient that was never rounded to them", "", mt::half,
                   mt::bfloat16) {
  using T = TestType;
  const auto w = leaf(mt::ones<float>({1, 1}));
  const auto x = mt::tensor<T>({{T(1)}, {T(1.0f / 256)}});  // the sum needs more bits than bfloat16 has
  sum(mt::matmul(x, w)).backward();
  CHECK(w.grad().item() == 1.0f + 1.0f / 256);
  const auto again = mt::grad(sum(mt::matmul(x, w)), w, {.create_graph = true});
  CHECK(again.item() == 1.0f + 1.0f / 256);
}
