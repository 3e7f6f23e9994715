// Policies: what is kept is not computed again, and the numbers stay.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/policy.hpp>

#include <cmath>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

namespace {

struct Measured {
  Numbers output, dx, dw;
  std::int64_t saved;
  std::uint64_t recomputed;
  double flops;
};

template <class Run>
Measured measure(Run run) {
  mt::manual_seed(3);
  const auto x = leaf(mt::arange<double>(0, 32).reshape({4, 8})), w = leaf(mt::full<double>({8, 8}, 0.01));
  const auto region = [w](const mt::Tensor<double>& h) { return dropout(tanh(mt::matmul(tanh(mt::matmul(dropout(h), w)), w))); };
  mt::Tensor<double> y;
  std::int64_t saved = 0;
  {
    const mt::SavedMeter meter;
    y = run(region, x);
    const std::vector<mt::AnyTensor> parameters{w};
    saved = meter.bytes(parameters);
  }
  const auto recomputed = mt::autograd_state.recomputed;
  const double flops = mt::autograd_state.recomputed_flops;
  sum(y).backward();
  return {numbers(y),
          numbers(x.grad()),
          numbers(w.grad()),
          saved,
          mt::autograd_state.recomputed - recomputed,
          mt::autograd_state.recomputed_flops - flops};
}

void check_same(const Measured& a, const Measured& b) {
  CHECK(a.output == b.output);
  CHECK(a.dx == b.dx);
  CHECK(a.dw == b.dw);
}

}  // namespace

TEST_CASE("saving products trades memory for time, to the same bits") {
  constexpr std::int64_t one = 4 * 8 * 8;
  const NothingLeft left;
  {
    const auto plain = measure([](const auto& f, const auto& x) { return f(x); });
    const auto full = measure([](const auto& f, const auto& x) { return mt::checkpoint(f, x); });
    const auto products = measure([](const auto& f, const auto& x) { return mt::checkpoint(mt::policy::save_products, f, x); });
    const auto everything = measure(
        [](const auto& f, const auto& x) { return mt::checkpoint(mt::Policy([](const mt::OperationInfo&) { return true; }), f, x); });
    check_same(plain, full);
    check_same(plain, products);
    check_same(plain, everything);
    CHECK(full.saved == one);
    CHECK(products.saved == 3 * one);  // x and the results of two products
    CHECK(full.flops == 2 * 2 * 4 * 8 * 8);
    CHECK(products.flops == 0);
    CHECK(plain.recomputed == 0);
    CHECK(products.recomputed == full.recomputed - 2);  // what is kept does not run
  }
  CHECK(left.bytes() == 0);
}

TEST_CASE("own policies decide by name and size, before an operation runs") {
  std::vector<std::string> asked;
  const mt::Policy large([&](const mt::OperationInfo& operation) {
    asked.emplace_back(operation.name);
    return operation.bytes() >= 800;
  });
  const auto x = leaf(mt::ones<double>({100}));
  int runs = 0;
  const auto y = mt::checkpoint(
      large,
      [&](const mt::Tensor<double>& t) {
        return mt::record<double>(
            "counted", {100}, [&](double* out) { ++runs, std::copy_n(exp(t.detach()).data(), 100, out); },
            mt::wrt(
                t, [](const mt::Tensor<double>& dy, const mt::Tensor<double>& r) { return mul(dy, r); }, mt::result));
      },
      x);
  CHECK(asked == std::vector<std::string>{"counted"});  // what it computes inside is part of it
  sum(y).backward();
  CHECK(runs == 1);
  CHECK(numbers(x.grad())[99] == std::exp(1.0));
}

TEST_CASE("what is kept behind the last saved value is let go, unless the second run gets there") {
  const auto region = [](const mt::Tensor<double>& t) { return scale(exp(sin(scale(t, 2))), 3); };
  const mt::Policy scales([](const mt::OperationInfo& operation) { return std::string_view(operation.name) == "scale"; });
  for (const bool verify : {false, true}) {
    const auto x = leaf(mt::ones<double>({100}));
    const NothingLeft left;
    mt::SavedMeter meter;
    const auto y = sum(mt::checkpoint(mt::CheckpointOptions{.policy = scales, .verify = verify}, region, x));
    CHECK(meter.bytes() == (verify ? 3 : 2) * 800);  // x, the inner product and, to the end, the outer one
    CHECK(left.bytes() == (verify ? 2 : 1) * 800 + 8);
    y.backward();
    CHECK(x.grad().data()[99] == Approx(6 * std::exp(std::sin(2.0)) * std::cos(2.0)));
  }
}

TEST_CASE("two policies together") {
  const mt::Policy exponentials([](const mt::OperationInfo& operation) { return std::string_view(operation.name) == "exp"; });
  const auto both = exponentials || mt::policy::save_collectives;
  CHECK(both.keeps({"exp", {1}, mt::DType::f64}));
  CHECK_FALSE(both.keeps({"sin", {1}, mt::DType::f64}));
  CHECK(both.keeps_collectives());
  CHECK_FALSE(mt::Policy().keeps_anything());
}

TEST_CASE("a kept result that was written to, or that another operation stands for") {
  const mt::Policy all([](const mt::OperationInfo&) { return true; });
  const auto x = leaf(mt::tensor<double>({1, 2}));
  const auto y = mt::checkpoint(
      all,
      [](const mt::Tensor<double>& t) {
        auto h = scale(t, 2);
        h.add_(mt::scalar<double>(1));
        return sin(h);
      },
      x);
  CHECK_THROWS_WITH(sum(y).backward(), Catch::Contains("modified in place"));
  int run = 0;
  const auto z = mt::checkpoint(
      all, [&](const mt::Tensor<double>& t) { return sin(++run == 1 ? exp(t) : tanh(t)); }, x);
  CHECK_THROWS_WITH(sum(z).backward(), Catch::Contains("was exp the first time and tanh the second"));
}

TEST_CASE("nested regions with policies of their own") {
  const auto f = [](const mt::Tensor<double>& t) { return sin(exp(t)); };
  const auto run = [&](auto inner, auto outer) {
    const auto x = leaf(mt::tensor<double>({0.3, 0.7}));
    sum(outer([&](const mt::Tensor<double>& t) { return tanh(inner(f, inner(f, t))); }, x)).backward();
    return numbers(x.grad());
  };
  const auto plain = [](const auto& g, const auto& x) { return g(x); };
  const auto full = [](const auto& g, const auto& x) { return mt::checkpoint(g, x); };
  const auto kept = [](const auto& g, const auto& x) {
    return mt::checkpoint(mt::Policy([](const mt::OperationInfo& o) { return std::string_view(o.name) == "exp"; }), g, x);
  };
  const auto right = run(plain, plain);
  CHECK(run(full, kept) == right);
  CHECK(run(kept, full) == right);
  CHECK(run(kept, kept) == right);
}

namespace {
// The most live bytes of a forward and backward pass through n equal blocks.
std::int64_t peak_of_chain(int n, bool checkpointed) {
  const auto x = leaf(mt::ones<double>({1000}));
  std::vector<mt::Tensor<double> (*)(const mt::Tensor<double>&)> blocks(static_cast<std::size_t>(n),
                                                                        [](const mt::Tensor<double>& h) { return sin(sin(h)); });
  const std::int64_t before = mt::live_bytes();
  mt::reset_peak_bytes();
  mt::Tensor<double> loss;
  if (checkpointed) {
    loss = sum(mt::checkpoint_sequential(blocks, 0, x));
  } else {
    auto h = x;
    for (auto block : blocks) h = block(h);
    loss = sum(h);
  }
  loss.backward();
  return mt::peak_bytes() - before;
}
}  // namespace

TEST_CASE("memory of a chain grows with n, and with sqrt(n) in segments") {
  CHECK(static_cast<double>(peak_of_chain(400, false)) / static_cast<double>(peak_of_chain(100, false)) == Approx(4).margin(0.2));
  CHECK(static_cast<double>(peak_of_chain(400, true)) / static_cast<double>(peak_of_chain(100, true)) == Approx(2).margin(0.2));
  const auto x = leaf(mt::scalar<double>(2));
  std::vector<mt::Tensor<double> (*)(const mt::Tensor<double>&)> three(3, [](const mt::Tensor<double>& h) { return sin(h); });
  mt::checkpoint_sequential(three, 7, x).backward();  // more segments than blocks
  CHECK(x.grad().item() == Approx(std::cos(2.0) * std::cos(std::sin(2.0)) * std::cos(std::sin(std::sin(2.0)))));
}
