// concatenate, stack, split and chunk: by expect_op, and parts that do not fit.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/concatenate.hpp>
#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/split.hpp>
#include <minitorch/ops/stack.hpp>
#include <minitorch/ops/sum.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

TEST_CASE("concatenate and stack") {
  const auto beside = []<class T>(const Tensor<T>& a, const Tensor<T>& b) { return mt::concatenate({a, b}, 1); };
  tests::expect_op(
      {.saved = 0, .same_twice = false}, beside,
      [](const Tensor<double>& a, const Tensor<double>& b) {
        return tensor<double>({{a.data()[0], a.data()[1], b.data()[0]}, {a.data()[2], a.data()[3], b.data()[1]}});
      },
      spread({2, 2}), spread({2, 1}, -1, 1, 2));
  const auto stacked = []<class T>(const Tensor<T>& a, const Tensor<T>& b) { return mt::stack(std::vector<Tensor<T>>{a, b}, 1); };
  tests::expect_op(
      {.saved = 0}, stacked,
      [](const Tensor<double>& a, const Tensor<double>& b) {
        return tensor<double>({{a.data()[0], b.data()[0]}, {a.data()[1], b.data()[1]}});
      },
      spread({2}), spread({2}, -1, 1, 2));
}

TEST_CASE("split and chunk") {
  const auto second = [](const auto& x) { return mt::split(x, {1, 2}, 1)[1]; };
  tests::expect_op(
      {.saved = 0}, second,
      [](const Tensor<double>& x) {
        return tensor<double>({{x.data()[1], x.data()[2]}, {x.data()[4], x.data()[5]}});
      },
      spread({2, 3}));
  const auto x = spread({4, 3});
  const auto halves = mt::chunk(x, 2);
  CHECK(halves[1].data() == x.data() + 6);
  CHECK_THROWS_AS(mt::chunk(x, 3), mt::ShapeError);
  CHECK_THROWS_AS(mt::split(x, {1, 2}), mt::ShapeError);
}

TEST_CASE("RU05 one tensor in several parts") {
  auto x = tensor<double>({1, 2});
  x.set_requires_grad();
  mt::sum(mt::concatenate({x, x, 2 * x})).backward();
  check_close(x.grad(), tensor<double>({4, 4}), 0);
}

TEST_CASE("parts that do not fit") {
  CHECK_THROWS_AS(mt::concatenate(std::vector<Tensor<double>>{}), mt::ArgumentError);
  CHECK_THROWS_WITH(mt::concatenate({spread({2, 3}), spread({2, 4})}), Catch::Contains("[2, 3]") && Catch::Contains("[2, 4]"));
}
