// checkpoint(): the same numbers from less memory, and what happens when the second run is not like the first.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/checkpoint.hpp>

#include <optional>
#include <string>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

TEMPLATE_TEST_CASE("CK01 dropout under checkpoint", "", double, float, mt::half, mt::bfloat16) {
  using T = TestType;
  const NothingLeft left;
  const auto run = [](bool checkpointed) {
    mt::manual_seed(1);
    const auto x = leaf(mt::tensor<T>({{T(0.5f), T(-1)}, {T(2), T(0.25f)}})), w = leaf(mt::tensor<T>({{T(1), T(0.5f)}, {T(-0.5f), T(2)}}));
    const auto region = [&](const mt::Tensor<T>& h) { return dropout(tanh(mt::matmul(h, w))); };
    auto y = checkpointed ? mt::checkpoint(region, x) : region(x);
    y = mul(y, dropout(x));  // the stream goes on behind the region
    sum(y).backward();
    Numbers all = numbers(y);
    for (const auto& part : {numbers(x.grad()), numbers(w.grad()), Numbers{static_cast<double>(mt::thread_state.next_stream)}})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  CHECK(run(true) == run(false));
  CHECK(left.bytes() == 0);
}

TEST_CASE("CK02 no input requires a gradient, a captured parameter does") {
  const auto w = leaf(mt::scalar<double>(3)), x = mt::scalar<double>(2);
  mt::checkpoint([&](const mt::Tensor<double>& t) { return mul(exp(t), w); }, x).backward();
  CHECK(w.grad().item() == std::exp(2.0));
}

TEST_CASE("CK03 several outputs, an argument that is no tensor, an input in two places") {
  const auto a = leaf(mt::scalar<double>(2));
  const auto f = [](const mt::Tensor<double>& t, double k) { return std::tuple(scale(t, k), mul(t, t)); };
  const auto [u, v] = mt::checkpoint(f, a, 3.0);
  mt::add(u, v).backward();
  CHECK(a.grad().item() == 7);

  const auto b = leaf(mt::scalar<double>(2));  // one of the outputs alone
  const auto [unused, used] = mt::checkpoint(f, b, 3.0);
  used.backward();
  CHECK(b.grad().item() == 4);

  const auto c = leaf(mt::scalar<double>(5));
  mt::checkpoint([](const mt::Tensor<double>& p, const mt::Tensor<double>& q) { return mul(p, q); }, c, c).backward();
  CHECK(c.grad().item() == 10);
}

TEST_CASE("arguments: undefined tensors, integers, vectors of tensors") {
  const auto a = leaf(mt::scalar<double>(2)), b = leaf(mt::scalar<double>(3));
  const auto f = [](const std::vector<mt::Tensor<double>>& t, const mt::Tensor<double>& none, const mt::Tensor<std::int64_t>& index) {
    return none.defined() ? t[0] : scale(mul(t[0], t[1]), static_cast<double>(index.item()));
  };
  mt::SavedMeter meter;
  const auto y = mt::checkpoint(f, std::vector{a, b}, mt::Tensor<double>{}, mt::scalar<std::int64_t>(4));
  CHECK(meter.bytes() == 3 * 8);  // the tensors among the arguments
  y.backward();
  CHECK(a.grad().item() == 12);
  CHECK(b.grad().item() == 8);
}

TEST_CASE("CK05 backward twice with retain_graph, and the freed graph afterwards") {
  const auto t = leaf(mt::scalar<double>(2));
  int runs = 0;
  const auto y = mt::checkpoint([&](const mt::Tensor<double>& x) { return ++runs, mul(exp(x), x); }, t);
  y.backward({.retain_graph = true});
  y.backward();
  CHECK(t.grad().item() == Approx(44.3343365935839).epsilon(1e-14));
  CHECK(runs == 3);
  CHECK_THROWS_AS(y.backward(), mt::GraphError);
}

TEST_CASE("CK07 nested checkpoints") {
  const auto t = leaf(mt::scalar<double>(2));
  int inner_runs = 0, outer_runs = 0;
  const auto inner = [&](const mt::Tensor<double>& x) { return ++inner_runs, sin(x); };
  const auto outer = [&](const mt::Tensor<double>& x) { return ++outer_runs, mt::checkpoint(inner, mt::checkpoint(inner, x)); };
  mt::checkpoint(outer, t).backward();
  CHECK(t.grad().item() == Approx(-0.2556391190927912).epsilon(1e-14));
  CHECK(outer_runs == 2);
  CHECK(inner_runs <= 6);

  const NothingLeft left;
  {
    const auto deep = leaf(mt::ones<double>({100}));
    std::function<mt::Tensor<double>(const mt::Tensor<double>&, int)> nest = [&](const mt::Tensor<double>& x, int depth) {
      if (depth == 0) return sin(x);
      return mt::checkpoint([&nest, depth](const mt::Tensor<double>& h) { return sin(nest(h, depth - 1)); }, x);
    };
    sum(nest(deep, 8)).backward();
    double right = 1, value = 1;
    for (int i = 0; i < 9; ++i) right *= std::cos(value), value = std::sin(value);
    CHECK(deep.grad().data()[99] == Approx(right).epsilon(1e-14));
  }
  CHECK(left.bytes() == 0);
}

TEST_CASE("CK08 an exception in the second run") {
  const NothingLeft left;
  {
    mt::manual_seed(7);
    const auto a = leaf(mt::tensor<double>({1, 2})), behind = leaf(mt::tensor<double>({3, 4}));
    int runs = 0;
    const auto y = mul(mt::checkpoint(
                           [&](const mt::Tensor<double>& x) {
                             const auto h = dropout(exp(x));
                             if (++runs == 2) throw std::logic_error("second run");
                             return sin(h);
                           },
                           a),
                       behind);
    const auto stream = mt::thread_state.next_stream;
    CHECK_THROWS_AS(sum(y).backward({.retain_graph = true}), std::logic_error);
    CHECK(mt::thread_state.next_stream == stream);
    CHECK(mt::thread_state.seed == 7);
    CHECK(mt::grad_enabled());
    CHECK_FALSE(mt::in_recompute());
    CHECK(mt::autograd_state.hooks == nullptr);
    CHECK_FALSE(a.grad().defined());
    CHECK_FALSE(behind.grad().defined());  // had arrived
    sum(y).backward();                     // the third run is well
    CHECK(a.grad().defined());
    CHECK(behind.grad().defined());
  }
  CHECK(left.bytes() == 0);
}

TEST_CASE("CK09 what counts its runs can ask which one it is") {
  const auto t = leaf(mt::scalar<double>(2));
  double runs = 0, first_runs = 0;
  mt::checkpoint(
      [&](const mt::Tensor<double>& x) {
        ++runs;
        if (!mt::in_recompute()) ++first_runs;
        return exp(x);
      },
      t)
      .backward();
  CHECK(runs == 2);
  CHECK(first_runs == 1);
}

TEST_CASE("CK10 an input, or a parameter, that was written to before backward") {
  const auto a = leaf(mt::scalar<double>(2));
  auto h = scale(a, 1);
  const auto y = mt::checkpoint([](const mt::Tensor<double>& x) { return exp(x); }, h);
  h.add_(mt::scalar<double>(1));
  CHECK_THROWS_WITH(y.backward(), Catch::Contains("checkpoint") && Catch::Contains("modified in place"));

  auto w = leaf(mt::scalar<double>(2));
  const auto z = mt::checkpoint([&](const mt::Tensor<double>& x) { return exp(mul(x, w)); }, a);
  mt::no_grad([&] { w.add_(mt::scalar<double>(1)); });
  CHECK_THROWS_WITH(z.backward(), Catch::Contains("parameter") && Catch::Contains("modified in place"));
}

TEST_CASE("CK11 a second run that saves something else") {
  const auto a = leaf(mt::tensor<double>({1, 2}));
  const auto backward = [&](auto region, bool verify) {
    int run = 0;
    const auto y = mt::checkpoint(
        mt::CheckpointOptions{.verify = verify}, [&run, region](const mt::Tensor<double>& x) { return region(x, ++run); }, a);
    sum(y).backward();
  };
  const auto more = [](const mt::Tensor<double>& x, int run) { return run == 1 ? exp(x) : sin(exp(x)); };
  CHECK_THROWS_WITH(backward(more, true), Catch::Contains("1 values the first time and 2 the second"));
  const auto fewer = [](const mt::Tensor<double>& x, int run) { return run == 1 ? sin(exp(x)) : exp(x); };
  CHECK_THROWS_WITH(backward(fewer, false), Catch::Contains("2 values the first time and 1 the second"));
  const auto shape = [](const mt::Tensor<double>& x, int run) { return sum(exp(run == 1 ? x : x.reshape({2, 1}))); };
  CHECK_THROWS_WITH(backward(shape, false), Catch::Contains("[2]") && Catch::Contains("[2, 1]") && Catch::Contains("exp"));
  const auto type = [](const mt::Tensor<double>& x, int run) { return run == 1 ? exp(x) : exp(x.to<float>()).to<double>(); };
  CHECK_THROWS_WITH(backward(type, false), Catch::Contains("float64") && Catch::Contains("float32"));
  CHECK_FALSE(a.grad().defined());
  CHECK_NOTHROW(backward([](const mt::Tensor<double>& x, int) { return sin(exp(x)); }, true));
}

TEST_CASE("CK14 memory: inputs of all blocks and one block; nothing stays, even with retain_graph") {
  constexpr std::int64_t bytes = 8000;
  const NothingLeft left;
  {
    const auto x = leaf(mt::ones<double>({1000}));
    const auto block = [](const mt::Tensor<double>& h) { return sin(sin(sin(sin(sin(h))))); };
    auto y = x;
    for (int i = 0; i < 10; ++i) y = mt::checkpoint(block, y);
    const auto loss = sum(y);
    y = {};
    CHECK(left.bytes() <= 11 * bytes + 64);  // ten inputs and the output
    mt::reset_peak_bytes();
    const std::int64_t start = mt::live_bytes();
    loss.backward({.retain_graph = true});
    CHECK(mt::peak_bytes() - start <= 9 * bytes + 64);  // a block's five values, its output, and gradients under way
    CHECK(mt::live_bytes() - start <= bytes + 64);      // the leaf's gradient
    const auto partial = mt::checkpoint([&](const mt::Tensor<double>& h) { return mul(exp(h), exp(x)); }, x.detach());
    const std::int64_t before = mt::live_bytes();
    (void)mt::grad(sum(partial), x, {.retain_graph = true});
    CHECK(mt::live_bytes() == before);  // also what the pass had computed again and not asked for
  }
  CHECK(left.bytes() == 0);
}

TEST_CASE("CK15 a backward pass inside the region") {
  const auto x = leaf(mt::scalar<double>(0.5));
  for (const bool verify : {false, true})
    for (const bool keep : {false, true}) {
      int runs = 0;
      const auto y = mt::checkpoint(
          mt::CheckpointOptions{.policy = keep ? mt::Policy([](const mt::OperationInfo&) { return true; }) : mt::Policy{},
                                .verify = verify},
          [&](const mt::Tensor<double>& t) {
            ++runs;
            const auto inner = leaf(t.detach());
            const auto slope = mt::grad(sin(mul(inner, inner)), inner);  // a constant: 2 t cos(t^2)
            return mul(mul(t, t), slope);
          },
          x);
      CHECK(y.item() == Approx(0.25 * std::cos(0.25)));
      CHECK(mt::grad(y, x).item() == Approx(std::cos(0.25)));
      CHECK(runs <= 3);
    }
}

TEST_CASE("higher derivatives through a checkpoint") {
  const auto f = [](const mt::Tensor<double>& t) { return mul(sin(t), exp(mul(t, t))); };
  const auto run = [&](bool checkpointed) {
    const auto x = leaf(mt::tensor<double>({0.3, -0.8}));
    const auto y = checkpointed ? mt::checkpoint(f, x) : f(x);
    const auto first = mt::grad(sum(y), x, {.create_graph = true});
    const auto second = mt::grad(sum(first), x, {.create_graph = true});
    sum(mul(second, y)).backward();
    return std::tuple(numbers(first), numbers(second), numbers(x.grad()));
  };
  CHECK(run(true) == run(false));
  CHECK_NOTHROW(mt::gradgradcheck([&](const std::vector<mt::Tensor<double>>& in) { return mt::checkpoint(f, in[0]); },
                                  {leaf(mt::tensor<double>({0.3, -0.8}))}));
}

TEST_CASE("early stop: the second run ends with the last value that was saved") {
  const auto x = leaf(mt::scalar<double>(2));
  int behind = 0;
  const auto region = [&](const mt::Tensor<double>& t) {
    const auto y = sin(t);
    ++behind;  // exp would come next
    return scale(y, 2);
  };
  mt::checkpoint(region, x).backward();
  CHECK(behind == 1);
  mt::checkpoint(mt::CheckpointOptions{.verify = true}, region, x).backward();
  CHECK(behind == 3);
}

TEST_CASE("early stop: what saves its inputs alone, last of all, is not computed again") {
  const auto x = leaf(mt::full<double>({4, 8}, 0.5)), w = leaf(mt::full<double>({8, 8}, 0.1));
  const auto run = [&](auto region, bool verify) {
    const auto y = sum(mt::checkpoint(mt::CheckpointOptions{.verify = verify}, region, x));
    const auto before = mt::autograd_state;
    y.backward();
    return std::pair(mt::autograd_state.recomputed - before.recomputed, mt::autograd_state.recomputed_flops - before.recomputed_flops);
  };
  constexpr double product = 2 * 4 * 8 * 8;
  const auto two_products = [&](const mt::Tensor<double>& t) { return scale(mt::matmul(tanh(mt::matmul(t, w)), w), 2); };
  CHECK(run(two_products, false) == std::pair(std::uint64_t{2}, product));  // the product and tanh, which saves its result
  CHECK(run(two_products, true) == std::pair(std::uint64_t{4}, 2 * product));
  const auto one_product = [&](const mt::Tensor<double>& t) { return mt::matmul(t, w); };
  CHECK(run(one_product, false) == std::pair(std::uint64_t{0}, 0.0));
}

TEST_CASE("a region that communicated runs to its end") {
  const auto x = leaf(mt::scalar<double>(2));
  int calls = 0;
  const auto region = [&](const mt::Tensor<double>& t) {
    const auto y = sin(t);
    return mt::record<double>(
        "all_reduce", {},
        [&](double* out) {
          ++mt::thread_state.collectives;
          ++calls;
          *out = 2 * y.item();
        },
        mt::wrt(y, [](const mt::Tensor<double>& dy) { return scale(dy, 2); }));
  };
  mt::checkpoint(region, x).backward();
  CHECK(calls == 2);
  calls = 0;
  mt::checkpoint(mt::policy::save_collectives, region, x).backward();
  CHECK(calls == 1);
  CHECK(x.grad().item() == Approx(4 * std::cos(2.0)));
}

TEST_CASE("without gradients the function is simply called") {
  const auto x = mt::scalar<double>(2);
  const mt::NoGrad guard;
  int runs = 0;
  CHECK_FALSE(mt::checkpoint([&](const mt::Tensor<double>& t) { return ++runs, exp(t); }, x).requires_grad());
  CHECK(runs == 1);
}

TEST_CASE("a lambda that dies before the backward pass") {
  const auto x = leaf(mt::scalar<double>(2));
  mt::Tensor<double> y;
  {
    const auto w = mt::scalar<double>(3);
    const auto f = [w](const mt::Tensor<double>& t) { return mul(exp(t), w); };
    y = mt::checkpoint(f, x);
  }
  y.backward();
  CHECK(x.grad().item() == Approx(3 * std::exp(2.0)));
}
