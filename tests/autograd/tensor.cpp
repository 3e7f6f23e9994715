// The handle: what it shares, what it refuses, memory of others.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/tensor.hpp>

#include <utility>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

namespace {
template <class T>
concept CanWantGradients = requires(mt::Tensor<T> x) {
  x.set_requires_grad();
};
}  // namespace

TEST_CASE("EN16 a detached value is a constant") {
  const auto a = leaf(mt::scalar<double>(3));
  mul(a.detach(), a).backward();
  CHECK(a.grad().item() == 3);
  CHECK(a.detach().data() == a.data());
}

TEST_CASE("EN29 integers and masks have no gradient") {
  CHECK(CanWantGradients<mt::half>);
  CHECK_FALSE(CanWantGradients<std::int64_t>);
  CHECK_FALSE(CanWantGradients<bool>);
}

TEST_CASE("EN31 more than 2^31 elements are counted in 64 bits") {
  CHECK(mt::Shape({65536, 65536}).numel() == 4294967296);
  const std::int64_t rows = 70000, columns = 70000;  // address space that nobody touches but for its ends
  const auto all = mt::Tensor<bool>::empty({rows, columns});
  auto last = all.slice(rows - 1, rows);
  CHECK(last.data() - all.data() == (rows - 1) * columns);
  last.slice(0, 1).reshape({columns}).slice(columns - 1, columns).fill_(true);
  CHECK(all.data()[rows * columns - 1]);
  CHECK_THROWS_AS(mt::zeros<double>({std::int64_t{1} << 40, std::int64_t{1} << 40}), mt::ShapeError);
  CHECK_THROWS_AS(mt::zeros<double>({std::int64_t{1} << 46}), std::bad_alloc);
  CHECK(mt::zeros<double>({std::int64_t{1} << 40, 0}).numel() == 0);
}

TEST_CASE("an undefined tensor says so") {
  mt::Tensor<double> undefined;
  CHECK_THROWS_WITH(undefined.shape(), Catch::Contains("undefined"));
  CHECK_THROWS_AS(undefined.data(), mt::ArgumentError);
  CHECK_THROWS_AS(undefined.item(), mt::ArgumentError);
  CHECK_THROWS_AS(mt::add(undefined, mt::ones<double>({1})), mt::ArgumentError);
  CHECK_THROWS_AS(mt::matmul(mt::ones<double>({1, 1}), undefined), mt::ArgumentError);
  CHECK_THROWS_AS(undefined.detach(), mt::ArgumentError);
  CHECK_THROWS_AS(leaf(undefined), mt::ArgumentError);
  CHECK_FALSE(undefined.requires_grad());
  CHECK(mt::to_string(undefined) == "undefined");
  auto a = mt::ones<double>({1});
  const auto b = std::move(a);
  CHECK_THROWS_AS(a.values(), mt::ArgumentError);  // NOLINT: moved from
  CHECK(b.item() == 1);
}

TEST_CASE("item and size") {
  CHECK_THROWS_WITH(mt::ones<double>({2}).item(), Catch::Contains("[2]"));
  CHECK(mt::ones<double>({2, 3}).size(-1) == 3);
  CHECK_THROWS_AS(mt::ones<double>({2, 3}).size(2), mt::ShapeError);
}

TEST_CASE("memory of somebody else") {
  double data[6] = {1, 2, 3, 4, 5, 6};
  int released = 0;
  {
    const auto x = mt::wrap(data, {2, 3}, [&] { ++released; });
    const auto a = leaf(x.detach());
    const auto y = mul(a, a);
    CHECK(numbers(y) == Numbers{1, 4, 9, 16, 25, 36});
    auto row = x[1];
    row.fill_(0);
    CHECK(data[5] == 0);
    CHECK_THROWS_AS(sum(y).backward(), mt::GraphError);  // the square had saved it
    CHECK(released == 0);
  }
  CHECK(released == 1);
}

TEST_CASE("AnyTensor knows its type") {
  const mt::AnyTensor any = mt::ones<mt::bfloat16>({2, 3});
  CHECK(any.dtype() == mt::DType::bf16);
  CHECK(any.bytes() == 12);
  CHECK(any.as<mt::bfloat16>().numel() == 6);
  CHECK_THROWS_WITH(any.as<float>(), Catch::Contains("bfloat16") && Catch::Contains("float32"));
}

TEMPLATE_TEST_CASE("conversion and its gradient", "", float, mt::half, mt::bfloat16) {
  const auto x = leaf(mt::tensor<double>({1, 1.0009765625, -3}));
  const auto y = x.to<TestType>();
  sum(mul(y, y)).backward();
  CHECK(x.grad().data()[2] == -6);
  CHECK(x.to<double>().body().get() == x.body().get());
}
