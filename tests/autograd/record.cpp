// record(): rules, shared work, what is kept and for whom.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/record.hpp>

#include <chrono>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

TEMPLATE_TEST_CASE("RU01 square of a scalar", "", double, float, mt::half, mt::bfloat16) {
  const NothingLeft left;
  {
    const auto x = leaf(mt::scalar<TestType>(TestType(3)));
    mul(x, x).backward();
    CHECK(x.grad().item() == 6);
  }
  CHECK(left.bytes() == 0);
}

TEMPLATE_TEST_CASE("RU02 RU03 a matrix times itself, and times its transpose", "", double, float, mt::half, mt::bfloat16) {
  using T = TestType;
  const auto x = leaf(mt::tensor<T>({{T(1), T(2)}, {T(3), T(4)}}));
  sum(mt::matmul(x, x)).backward();
  CHECK(numbers(x.grad()) == Numbers{7, 11, 9, 13});
  auto y = x;
  y.zero_grad();
  sum(mt::matmul(x, x, {false, true})).backward();
  CHECK(numbers(x.grad()) == Numbers{8, 12, 8, 12});
}

TEST_CASE("RU04 x - x") {
  const auto x = leaf(mt::scalar<double>(2));
  const auto y = mt::add(x, scale(x, -1));
  y.backward();
  CHECK(y.item() == 0);
  CHECK(x.grad().item() == 0);
}

TEST_CASE("RU06 diamond") {
  const auto x = leaf(mt::scalar<double>(2));
  const auto y = mul(x, x);
  mt::add(mul(y, x), y).backward();
  CHECK(x.grad().item() == 16);
}

TEST_CASE("RU07 60 doublings visit each node once") {
  const auto x = leaf(mt::scalar<double>(0));
  auto y = x;
  for (int i = 0; i < 60; ++i) y = mt::add(y, y);
  const auto start = std::chrono::steady_clock::now();
  y.backward();
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(100));
  CHECK(x.grad().item() == 1152921504606846976.0);
}

TEST_CASE("the engine undoes a broadcast") {
  const auto a = leaf(mt::ones<double>({2, 3})), b = leaf(mt::ones<double>({3})), c = leaf(mt::ones<double>({2, 1}));
  sum(mul(mul(a, b), c)).backward();
  CHECK(numbers(a.grad()) == Numbers{1, 1, 1, 1, 1, 1});
  CHECK(b.grad().shape() == mt::Shape{3});
  CHECK(numbers(b.grad()) == Numbers{2, 2, 2});
  CHECK(c.grad().shape() == mt::Shape{2, 1});
  CHECK(numbers(c.grad()) == Numbers{3, 3});
}

TEST_CASE("an input that needs no gradient keeps nothing") {
  const auto a = leaf(mt::ones<double>({1000})), b = mt::ones<double>({1000});
  const std::int64_t before = mt::live_bytes();
  const auto y = mul(a, mul(b, b));  // keeps the inner product for a, and not a for it
  CHECK(mt::live_bytes() - before == 2 * 8000);
  const auto z = mul(b, b);
  CHECK_FALSE(z.requires_grad());
  mt::SavedMeter meter;
  (void)mul(a, b);
  CHECK(meter.entries().size() == 1);
}

namespace {

// (a b, with a's gradient and b's from one rule)
template <mt::Scalar T>
mt::Tensor<T> shared_mul(const mt::Tensor<T>& a, const mt::Tensor<T>& b, int& calls) {
  static thread_local int* counter;
  counter = &calls;
  return mt::record<T>(
      "shared_mul", a.shape(),
      [&](T* out) {
        for (std::int64_t i = 0; i < a.numel(); ++i) out[i] = a.data()[i] * (b.defined() ? b.data()[i] : T(1));
      },
      mt::wrt_all(
          mt::inputs(a, b),
          [](const mt::Tensor<T>& dy, const std::array<bool, 2>& wanted, const mt::Tensor<T>& x, const mt::Tensor<T>& y) {
            ++*counter;
            mt::Tensor<T> dx, dz;
            if (wanted[0]) dx = y.defined() ? mul(dy, y) : dy;
            if (wanted[1]) dz = mul(dy, x);
            return std::tuple(dx, dz);
          },
          a, b));
}

}  // namespace

TEST_CASE("inputs that share backward work") {
  int calls = 0;
  const auto a = leaf(mt::tensor<double>({2, 3})), b = leaf(mt::tensor<double>({5, 7}));
  sum(shared_mul(a, b, calls)).backward();
  CHECK(calls == 1);
  CHECK(numbers(a.grad()) == Numbers{5, 7});
  CHECK(numbers(b.grad()) == Numbers{2, 3});

  const auto c = leaf(mt::tensor<double>({2, 3}));  // an undefined input, and one without gradient
  sum(shared_mul(c, {}, calls)).backward();
  CHECK(numbers(c.grad()) == Numbers{1, 1});
  const auto d = leaf(mt::tensor<double>({2, 3}));
  sum(shared_mul(d, b.detach(), calls)).backward();
  CHECK(numbers(d.grad()) == Numbers{5, 7});

  const auto loss = sum(shared_mul(a, b, calls));
  CHECK(numbers(mt::grad(loss, b)) == Numbers{2, 3});  // a's gradient is not asked for and not computed
}

TEST_CASE("a rule may return nothing") {
  const auto x = leaf(mt::scalar<double>(2));
  const auto y = mt::record<double>(
      "nothing", {}, [&](double* out) { *out = 1; }, mt::wrt(x, [](const mt::Tensor<double>&) { return mt::Tensor<double>{}; }));
  y.backward();
  CHECK_FALSE(x.grad().defined());
}
