// The meter: distinct buffers, with and without parameters, by operation.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/meter.hpp>

#include <optional>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

TEST_CASE("each buffer counts once, and parameters can be left out") {
  const auto w = leaf(mt::ones<double>({10, 10})), x = leaf(mt::ones<double>({4, 10}));
  const mt::SavedMeter meter;
  const auto h = mt::matmul(x, w);                         // saves x and w
  const auto y = mul(exp(h), mul(x, x).reshape({4, 10}));  // exp its result, mul its result again and the square
  CHECK(meter.bytes() == 800 + 3 * 320);
  const std::vector<mt::AnyTensor> parameters{w};
  CHECK(meter.bytes(parameters) == 3 * 320);
  const auto by_operation = meter.bytes_by_operation(parameters);
  CHECK(by_operation.at("matmul") == 320);
  CHECK(by_operation.at("exp") == 320);
  CHECK(by_operation.at("mul") == 320);
  CHECK(meter.entries()[0].is_leaf);
}

TEST_CASE("values live no longer because they are counted") {
  const NothingLeft left;
  const mt::SavedMeter meter;
  const auto x = leaf(mt::ones<double>({1000}));
  auto y = sum(exp(exp(x)));
  CHECK(meter.bytes() == 2 * 8000);
  y.backward();
  y = {};
  CHECK(left.bytes() == 2 * 8000);           // x and its gradient
  for (int i = 0; i < 5; ++i) (void)exp(x);  // at one address, but five buffers
  CHECK(meter.entries().size() == 2 + 5);
}

TEST_CASE("a value that was written to after it was counted") {
  auto a = leaf(mt::scalar<double>(3));
  std::optional<mt::SavedMeter> meter(std::in_place);
  const auto y = mul(a, a);
  meter.reset();
  mt::no_grad([&] { a.mutable_data()[0] = 5; });
  CHECK_THROWS_WITH(y.backward(), Catch::Contains("modified in place"));
}
