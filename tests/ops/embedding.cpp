// embedding: rows by index and their gradients.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/embedding.hpp>
#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/sum.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;

namespace {
Tensor<double> table() {
  Tensor<double> w = mt::arange<double>(0, 6).reshape({3, 2});
  w.set_requires_grad();
  return w;
}
const auto twice = tensor<std::int64_t>({1, 1, 0});
}  // namespace

TEST_CASE("embedding") {
  const auto index = tensor<std::int64_t>({{3, 0, 3}, {2, 2, 1}});
  const auto right = [index](const Tensor<double>& w) {
    Tensor<double> out = mt::zeros<double>({2, 3, 5});
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t j = 0; j < 5; ++j) out.mutable_data()[i * 5 + j] = w.data()[index.data()[i] * 5 + j];
    return out;
  };
  tests::expect_op(
      {.saved = 1}, [index](const auto& w) { return mt::embedding(index, w); }, right, tests::spread({4, 5}));
}

TEST_CASE("EM01 rows that are used twice add up") {
  const auto w = table();
  mt::embedding(twice, w).backward(tensor<double>({{1, 2}, {3, 4}, {5, 6}}));
  check_close(w.grad(), tensor<double>({{5, 6}, {4, 6}, {0, 0}}), 0);
}

TEST_CASE("EM02 the padding row is read, and receives nothing") {
  const auto w = table();
  const auto y = mt::embedding(twice, w, 1);
  check_close(y.detach(), tensor<double>({{2, 3}, {2, 3}, {0, 1}}), 0);
  mt::sum(y).backward();
  check_close(w.grad(), tensor<double>({{1, 1}, {0, 0}, {0, 0}}), 0);
}

TEST_CASE("EM03 an index outside of the table") {
  const auto w = table();
  CHECK_THROWS_WITH(mt::embedding(tensor<std::int64_t>({3}), w), Catch::Contains("[0, 3)") && Catch::Contains("got 3"));
  CHECK_THROWS_AS(mt::embedding(tensor<std::int64_t>({-1}), w), mt::ArgumentError);
}

TEST_CASE("EM04 no index") { CHECK(mt::embedding(mt::zeros<std::int64_t>({0}), table()).shape() == mt::Shape{0, 2}); }

TEST_CASE("EM05 a bfloat16 row that is used a thousand times") {
  auto w = mt::ones<mt::bfloat16>({3, 2});
  w.set_requires_grad();
  mt::embedding(mt::full<std::int64_t>({1000}, 1), w).backward(mt::ones<mt::bfloat16>({1000, 2}));
  CHECK(w.grad().data()[2] == 1000.0f);
}

TEST_CASE("EM06 one table as embedding and head") {
  const auto w = table();
  mt::sum(mt::matmul(mt::embedding(tensor<std::int64_t>({1}), w), w, {false, true})).backward();
  check_close(w.grad(), tensor<double>({{2, 3}, {8, 12}, {2, 3}}), 0);
}
