// Saved values in bfloat16: what it saves, what it costs in accuracy, what it leaves alone.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/narrow_saved.hpp>

#include <optional>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

TEST_CASE("half the bytes, and a gradient within the reported error") {
  const auto x = leaf(mt::arange<float>(0, 1000, 1).reshape({1000}));
  const auto run = [&] { return sum(tanh(scale(sin(scale(x, 0.37)), 0.8))); };
  const auto exact = mt::grad(run(), x);
  std::optional<mt::NarrowSaved> narrow(std::in_place);
  const std::int64_t before = mt::live_bytes();
  const auto y = run();
  const auto report = narrow->report();
  CHECK(report.values == 2);  // sin's argument and tanh's result; scale saves none
  CHECK(report.bytes_before == 8000);
  CHECK(report.bytes_after == 4000);
  CHECK(mt::live_bytes() - before == 4000 + 4);
  CHECK(report.largest_relative_error > 1e-4);
  CHECK(report.largest_relative_error < 1.0 / 256);
  narrow.reset();
  const auto packed = mt::grad(y, x);
  double largest = 0;
  for (int i = 0; i < 1000; ++i) largest = std::max(largest, std::abs(static_cast<double>(exact.data()[i] - packed.data()[i])));
  CHECK(largest > 0);
  CHECK(largest < 1.5 * report.largest_error + 0.01);
}

TEST_CASE("parameters are kept as they are, and writes to them seen") {
  auto w = leaf(mt::scalar<double>(0.1));
  std::optional<mt::NarrowSaved> narrow(std::in_place);
  const auto y = mul(w, w), z = mul(w, w);
  CHECK(narrow->report().values == 0);
  narrow.reset();
  y.backward();
  CHECK(w.grad().item() == 0.2);
  mt::no_grad([&] { w.fill_(1); });
  CHECK_THROWS_WITH(z.backward(), Catch::Contains("modified in place"));
}
