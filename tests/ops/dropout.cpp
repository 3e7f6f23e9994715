// dropout: what is dropped, that nothing is saved, slices of a whole, checkpointing.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <minitorch/ops/dropout.hpp>
#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/sum.hpp>
#include <minitorch/ops/tanh.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::tensor;
using mt::Tensor;
using tests::check_close;

namespace {
template <class T>
Tensor<T> dropped(const Tensor<T>& x) {
  mt::manual_seed(7);
  return mt::dropout(x, 0.25);
}
}  // namespace

TEST_CASE("dropout") {
  const Tensor<double> kept = dropped(mt::ones<double>({6, 7}));
  tests::expect_op(
      {.saved = 0},
      [](const auto& x) {
        mt::manual_seed(7);
        return mt::dropout(x, 0.25);
      },
      [kept](const Tensor<double>& x) {
        Tensor<double> out = x.detach().clone();
        for (std::int64_t i = 0; i < out.numel(); ++i) out.mutable_data()[i] *= kept.data()[i];
        return out;
      },
      tests::spread({6, 7}));
}

TEST_CASE("dropout keeps the share and the mean") {
  const Tensor<double> y = dropped(mt::ones<double>({100000}));
  std::int64_t zeros = 0;
  for (double v : y.values()) {
    zeros += v == 0;
    CHECK((v == 0 || v == 1 / 0.75));
  }
  CHECK(std::abs(static_cast<double>(zeros) / 1e5 - 0.25) < 0.006);  // four standard deviations
}

TEST_CASE("DR01 p = 0 is the identity, p = 1 gives zeros and gradient zero") {
  auto x = mt::ones<double>({8});
  x.set_requires_grad();
  check_close(mt::dropout(x, 0).detach(), mt::ones<double>({8}), 0);
  const auto y = mt::dropout(x, 1);
  check_close(y.detach(), mt::zeros<double>({8}), 0);
  mt::sum(y).backward();
  check_close(x.grad(), mt::zeros<double>({8}), 0);
}

TEST_CASE("DR02 p outside of [0, 1]") { CHECK_THROWS_AS(mt::dropout(mt::ones<double>({8}), 1.5), mt::ArgumentError); }

TEST_CASE("a slice drops what the whole drops there") {
  const auto whole = dropped(mt::ones<double>({6, 8}));
  mt::manual_seed(7);
  const auto part = mt::dropout(mt::ones<double>({2, 8}), 0.25, {{3, 0}, {2, 8}, {6, 8}});
  check_close(part, whole.slice(3, 5).detach(), 0);
}

TEST_CASE("CK01 dropout under checkpoint") {
  const auto w = tests::spread({5, 5});
  const auto run = [&](bool again) {
    auto x = tests::spread({4, 5}, -1, 1, 3);
    x.set_requires_grad();
    mt::manual_seed(1);
    const auto f = [&w](const Tensor<double>& in) { return mt::dropout(mt::tanh(mt::matmul(in, w)), 0.5); };
    const auto y = again ? mt::checkpoint(f, x) : f(x);
    mt::sum(y * y).backward();
    return std::pair(x.grad(), mt::thread_state.next_stream);
  };
  const auto [plain, stream] = run(false);
  const auto [recomputed, stream_after] = run(true);
  check_close(recomputed, plain, 0);
  CHECK(stream == stream_after);
}
