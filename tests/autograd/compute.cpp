// The one place where operations run: counters, interceptors, checks.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/compute.hpp>

#include <string>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

TEST_CASE("operations and the work of products are counted") {
  const auto a = mt::ones<double>({3, 4}), b = mt::ones<double>({4, 5});
  const auto operations_before = mt::autograd_state.operations;
  const double flops_before = mt::autograd_state.product_flops;
  (void)mt::matmul(a, b);
  CHECK(mt::autograd_state.operations == operations_before + 1);
  CHECK(mt::autograd_state.product_flops == flops_before + 2 * 3 * 4 * 5);
}

TEST_CASE("anomaly mode checks every result, and only while it lives") {
  const auto huge = mt::scalar<float>(1e30f);
  {
    const mt::AnomalyMode anomaly;
    CHECK_NOTHROW(mul(huge, mt::scalar<float>(2)));
    CHECK_THROWS_WITH(mul(huge, huge), Catch::Contains("mul") && Catch::Contains("inf"));
  }
  CHECK_NOTHROW(mul(huge, huge));
}
