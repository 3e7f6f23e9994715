// The backward pass: depth, order, nesting, failure, threads.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/engine.hpp>

#include <pthread.h>

#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

namespace {

void on_small_stack(std::size_t bytes, std::function<void()> body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void* argument) -> void* {
                (*static_cast<std::function<void()>*>(argument))();
                return nullptr;
              },
              &body) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

constexpr int deep = 1000000;

mt::Tensor<float> chain(const mt::Tensor<float>& b) {
  auto y = b;
  for (int i = 0; i < deep; ++i) y = mt::add(y, b);
  return y;
}

}  // namespace

TEST_CASE("EN24 EN25 a chain of a million nodes on a stack of 256 KiB") {
  double gradient = 0;
  std::int64_t left = 1;
  on_small_stack(256 << 10, [&] {
    {
      const auto b = leaf(mt::scalar<float>(1));
      const auto y = chain(b);
      y.backward();
      gradient = static_cast<double>(b.grad().item());
      auto forgotten = chain(b);
      forgotten = {};
      auto saving = b;  // saved values as the only owners of what came before
      for (int i = 0; i < deep; ++i) saving = mul(saving, saving);
    }
    left = mt::live_bytes();
  });
  CHECK(gradient == deep + 1);
  CHECK(left == 0);
}

TEST_CASE("a second derivative through a deep chain") {
  double second = 0;
  on_small_stack(256 << 10, [&] {
    const auto x = leaf(mt::scalar<double>(1));
    auto y = mul(x, x);
    for (int i = 0; i < 100000; ++i) y = mt::add(y, mul(x, x));
    const auto first = mt::grad(y, x, {.create_graph = true});
    second = mt::grad(first, x).item();
  });
  CHECK(second == 2 * 100001);
}

TEST_CASE("values die as soon as their node has run, newest first") {
  const auto x = leaf(mt::ones<double>({1000}));
  auto y = x;
  std::int64_t at_half = 0;
  const std::int64_t before = mt::live_bytes();
  for (int i = 0; i < 10; ++i) {
    y = sin(y);
    if (i == 4) y.register_hook([&](const mt::Tensor<double>&) { return at_half = mt::live_bytes(), mt::Tensor<double>{}; });
  }
  auto loss = sum(y);
  y = {};
  loss.backward();
  CHECK(at_half - before <= 7 * 8000);  // five inputs are left, and the gradients under way
}

TEST_CASE("a root below another root, and a root that is a leaf") {
  const auto x = leaf(mt::scalar<double>(3));
  const auto y = mul(x, x), z = mul(y, x);
  const std::vector<mt::Tensor<double>> outputs{y, z, y, x};
  const auto gradients = mt::grad<double>(outputs, std::span(&x, 1), {});
  CHECK(gradients[0].item() == 2 * 6 + 27 + 1);
  x.backward();
  CHECK(x.grad().item() == 1);
}

TEST_CASE("the leaves below the roots are seen once each, before anything is computed") {
  const auto a = leaf(mt::scalar<double>(3)), b = leaf(mt::scalar<double>(5));
  const auto product = mul(a, b), y = mul(product, product);  // a diamond
  {
    mt::Engine engine(mt::BackwardOptions{});
    engine.add_root(y, mt::scalar<double>(1));
    std::vector<const mt::Node*> leaves;
    engine.for_each_leaf([&](const mt::Node& node) { leaves.push_back(&node); });
    CHECK(leaves.size() == 2);
    CHECK(!a.grad().defined());
    engine.run();
  }
  CHECK(a.grad().item() == 150);
  CHECK(b.grad().item() == 90);
}

TEST_CASE("the same tensor asked for twice, and asked of itself") {
  const auto x = leaf(mt::scalar<double>(3));
  const auto y = mul(x, x);
  const auto twice = mt::grad(y, std::vector{x, x}, {.retain_graph = true});
  CHECK(twice[0].item() == 6);
  CHECK(twice[1].item() == 6);
  CHECK(mt::grad(y, y, {.retain_graph = true}).item() == 1);
  CHECK(mt::grad(x, x).item() == 1);
  const auto both = mt::grad(y, std::vector{y, x});
  CHECK(both[0].item() == 1);
  CHECK(both[1].item() == 6);
}

TEST_CASE("grad() leaves what lies beyond its inputs alone") {
  const auto x = leaf(mt::scalar<double>(2));
  const auto y = mul(x, x);  // saves x
  CHECK(mt::grad(mul(y, y), y).item() == 8);
  CHECK_FALSE(x.grad().defined());
  CHECK(mt::grad(y, y).item() == 1);  // y's own node does not run
  y.backward();                       // and still has what it saved
  CHECK(x.grad().item() == 4);
  CHECK(mt::grad(mul(y, y), y).item() == 8);  // nor does it matter when it no longer has
}

TEST_CASE("a hook that runs a backward pass of its own over the same nodes") {
  const auto x = leaf(mt::scalar<double>(3)), w = leaf(mt::scalar<double>(5));
  const auto y = mul(x, w), z = mul(y, y);
  double inner = 0;
  y.register_hook([&](const mt::Tensor<double>&) {
    if (inner == 0) {
      inner = 1;
      const mt::EnableGrad recording;
      inner = mt::grad(y, x, {.retain_graph = true}).item();
      y.backward({.retain_graph = true});
    }
    return mt::Tensor<double>{};
  });
  z.backward();
  CHECK(inner == 5);
  CHECK(x.grad().item() == 2 * 15 * 5 + 5);
  CHECK(w.grad().item() == 2 * 15 * 3 + 3);
}

TEST_CASE("a rule that asks for a gradient itself") {
  const auto x = leaf(mt::scalar<double>(0.5));
  const auto y = mt::record<double>(
      "by differentiation", {}, [&](double* out) { *out = std::sin(x.item()); },
      mt::wrt(
          x,
          [](const mt::Tensor<double>& dy, const mt::Tensor<double>& at) {
            const mt::EnableGrad recording;
            const auto inner = leaf(at.detach());
            return mul(dy, mt::grad(sin(inner), inner)).detach();
          },
          x));
  mul(y, y).backward();
  CHECK(x.grad().item() == Approx(2 * std::sin(0.5) * std::cos(0.5)));
}

TEST_CASE("EN30 an exception inside a rule leaves everything usable") {
  const NothingLeft left;
  {
    bool fails = true;
    static thread_local bool* armed;
    armed = &fails;
    const auto x = leaf(mt::tensor<double>({1, 2}));
    const auto a = mul(x, x);
    const auto b = mt::record<double>(
        "fragile", {2}, [&](double* out) { std::copy_n(a.data(), 2, out); }, mt::wrt(a, [](const mt::Tensor<double>& dy) {
          if (*armed) throw std::logic_error("no");
          return dy;
        }));
    const auto loss = sum(mt::add(b, a));
    CHECK_THROWS_AS(loss.backward({.retain_graph = true}), std::logic_error);
    CHECK(mt::grad_enabled());
    CHECK_FALSE(x.grad().defined());
    fails = false;
    loss.backward();
    CHECK(numbers(x.grad()) == Numbers{4, 8});  // nothing of the first attempt is in it

    const auto y = mul(x, x);
    y.register_hook([](const mt::Tensor<double>&) -> mt::Tensor<double> { throw std::logic_error("no"); });
    CHECK_THROWS_AS(sum(y).backward({.create_graph = true}), std::logic_error);
    CHECK(mt::grad_enabled());
  }
  CHECK(left.bytes() == 0);
}

TEST_CASE("an exception in a pass inside a pass") {
  const auto x = leaf(mt::scalar<double>(3));
  const auto y = mul(x, x);
  bool inner_failed = false;
  y.register_hook([&](const mt::Tensor<double>&) {
    const mt::EnableGrad recording;
    const auto z = scale(y, 2);
    z.register_hook([](const mt::Tensor<double>&) -> mt::Tensor<double> { throw std::logic_error("no"); });
    try {
      mul(z, z).backward();
    } catch (const std::logic_error&) {
      inner_failed = true;
    }
    return mt::Tensor<double>{};
  });
  mul(y, y).backward();
  CHECK(inner_failed);
  CHECK(x.grad().item() == 4 * 27);
}

TEST_CASE("EN34 two threads with their own graphs") {
  const auto run = [] {
    const auto x = leaf(mt::scalar<double>(1.5));
    for (int i = 0; i < 200; ++i) {
      auto y = x;
      for (int j = 0; j < 50; ++j) y = mt::add(sin(y), mul(x, y));
      y.backward();
    }
    return x.grad().item();
  };
  const double serial = run();
  double results[2] = {};
  std::thread first([&] { results[0] = run(); }), second([&] { results[1] = run(); });
  first.join();
  second.join();
  CHECK(results[0] == serial);
  CHECK(results[1] == serial);
}

TEST_CASE("a graph that moves to another thread with its leaves") {
  const auto x = leaf(mt::scalar<double>(3));
  auto y = mul(x, x);
  y.backward({.retain_graph = true});  // the pass of the same number as the other thread's first
  std::thread([&] { mul(y, y).backward(); }).join();
  CHECK(x.grad().item() == 6 + 4 * 27);
}

TEST_CASE("tensors without elements take part") {
  const auto x = leaf(mt::zeros<double>({0, 3})), w = leaf(mt::ones<double>({3}));
  sum(mul(x, w)).backward();
  CHECK(x.grad().shape() == mt::Shape{0, 3});
  CHECK(numbers(w.grad()) == Numbers{0, 0, 0});
  const auto a = leaf(mt::zeros<double>({2, 0})), b = leaf(mt::zeros<double>({0, 3}));
  const auto y = mt::matmul(a, b);
  CHECK(numbers(y) == Numbers{0, 0, 0, 0, 0, 0});
  sum(y).backward();
  CHECK(a.grad().shape() == mt::Shape{2, 0});
  CHECK(b.grad().shape() == mt::Shape{0, 3});
}

TEST_CASE("anomaly mode names the operation, forward and backward") {
  const mt::AnomalyMode anomaly;
  const auto x = leaf(mt::tensor<double>({1, 1000}));
  CHECK_THROWS_WITH(exp(x), Catch::Contains("exp") && Catch::Contains("inf"));
  const auto y = mt::record<double>(
      "odd", {2}, [&](double* out) { std::fill_n(out, 2, 0.0); }, mt::wrt(x, [](const mt::Tensor<double>& dy) {
        mt::Tensor<double> bad = mt::Tensor<double>::empty(dy.shape());
        std::fill_n(bad.mutable_data(), 2, std::nan(""));
        return bad;
      }));
  CHECK_THROWS_WITH(sum(y).backward(), Catch::Contains("odd") && Catch::Contains("nan"));
}
