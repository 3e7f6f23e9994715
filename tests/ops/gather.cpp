// gather, index_select, one_hot, tril, triu, permute: by expect_op and out of range.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/gather.hpp>
#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/permute.hpp>
#include <minitorch/ops/tril.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

TEST_CASE("gather and index_select") {
  const auto index = tensor<std::int64_t>({{2, 0}, {1, 1}});
  tests::expect_op(
      {.saved = 1}, [index](const auto& x) { return mt::gather(x, 1, index); },
      [](const Tensor<double>& x) {
        return tensor<double>({{x.data()[2], x.data()[0]}, {x.data()[4], x.data()[4]}});
      },
      spread({2, 3}));
  const auto columns = tensor<std::int64_t>({2, 2});
  tests::expect_op([columns](const auto& x) { return mt::index_select(x, 1, columns); },
                   [](const Tensor<double>& x) {
                     return tensor<double>({{x.data()[2], x.data()[2]}, {x.data()[5], x.data()[5]}});
                   },
                   spread({2, 3}));
  CHECK_THROWS_AS(mt::gather(spread({2, 3}), 1, tensor<std::int64_t>({{3}, {0}})), mt::ArgumentError);
  CHECK_THROWS_AS(mt::gather(spread({2, 3}), 1, tensor<std::int64_t>({{3}})), mt::ShapeError);
}

TEST_CASE("one_hot") {
  check_close(mt::one_hot<double>(tensor<std::int64_t>({2, 0}), 3), tensor<double>({{0, 0, 1}, {1, 0, 0}}), 0);
  CHECK_THROWS_AS(mt::one_hot<double>(tensor<std::int64_t>({3}), 3), mt::ArgumentError);
}

TEST_CASE("tril and triu") {
  tests::expect_op(
      {.saved = 1}, [](const auto& x) { return mt::tril(x); },
      [](const Tensor<double>& x) {
        return tensor<double>({{x.data()[0], 0, 0}, {x.data()[3], x.data()[4], 0}});
      },
      spread({2, 3}));
  const auto x = spread({3, 3});
  check_close(mt::tril(x, -1) + mt::triu(x), x, 0);
}

TEST_CASE("permute and transposed") {
  tests::expect_op(
      {.saved = 0},
      [](const auto& x) {
        return mt::permute(x, {2, 0, 1});
      },
      [](const Tensor<double>& x) {
        Tensor<double> out = mt::zeros<double>({4, 2, 3});
        for (std::int64_t a = 0; a < 2; ++a)
          for (std::int64_t b = 0; b < 3; ++b)
            for (std::int64_t c = 0; c < 4; ++c) out.mutable_data()[(c * 2 + a) * 3 + b] = x.data()[(a * 3 + b) * 4 + c];
        return out;
      },
      spread({2, 3, 4}));
  const auto x = spread({5, 3});
  check_close(mt::transposed(mt::transposed(x)), x, 0);
  CHECK_THROWS_AS(mt::permute(x, {0, 0}), mt::ArgumentError);
  CHECK_THROWS_AS(mt::permute(x, {0}), mt::ArgumentError);
}
