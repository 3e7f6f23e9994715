// Switching the recording off and on.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/grad_mode.hpp>

#include <thread>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

TEST_CASE("EN17 nothing is recorded under NoGrad, in this thread, whatever happens") {
  const auto a = leaf(mt::scalar<double>(3));
  {
    const mt::NoGrad guard;
    CHECK_FALSE(mul(a, a).requires_grad());
    bool elsewhere = false;
    std::thread([&] { elsewhere = mt::grad_enabled(); }).join();
    CHECK(elsewhere);
    const mt::EnableGrad inside;
    CHECK(mul(a, a).requires_grad());
  }
  CHECK(mul(a, a).requires_grad());
  CHECK_THROWS_AS(mt::no_grad([]() -> int { throw std::logic_error("no"); }), std::logic_error);
  CHECK(mt::grad_enabled());
  CHECK(mt::no_grad([&] { return mul(a, a); }).item() == 9);
}

TEST_CASE("threads may share parameters while nothing is recorded") {
  const auto w = leaf(mt::ones<double>({64}));
  double results[2] = {};
  const auto run = [&](double& result) {
    const mt::NoGrad guard;
    for (int i = 0; i < 2000; ++i) result += mul(w.reshape({8, 8}), w.slice(0, 8)).data()[3];
  };
  std::thread first(run, std::ref(results[0])), second(run, std::ref(results[1]));
  first.join();
  second.join();
  CHECK(results[0] == 2000);
  CHECK(results[1] == 2000);
}
