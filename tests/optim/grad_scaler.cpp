// The loss scale: when it grows, when it shrinks, what is skipped.
// SPDX-License-Identifier: MIT
#include <minitorch/optim/grad_scaler.hpp>

#include <minitorch/optim/sgd.hpp>
#include <tests/catch.hpp>

using namespace minitorch;

namespace {
struct Fixture {
  Tensor<float> p = ones<float>({2}).set_requires_grad();
  optim::SGD<float> sgd{std::vector<Tensor<float>>{p}, {.lr = 1}};
  void give(float g) { p.set_grad(full<float>({2}, g)); }
};
constexpr float infinity = std::numeric_limits<float>::infinity();
}  // namespace

TEST_CASE("the gradients of a scaled loss are scaled, and unscaled once") {
  Fixture f;
  optim::GradScaler scaler({.scale = 1024});
  const auto loss = matmul(f.p, tensor<float>({1, 1}));
  scaler.backward(loss);
  CHECK(f.p.grad().data()[0] == 1024);
  scaler.unscale_(f.sgd);
  CHECK(f.p.grad().data()[0] == 1);
  CHECK_THROWS_WITH(scaler.unscale_(f.sgd), "unscale_: these gradients were unscaled since the last update()");
  CHECK(scaler.step(f.sgd));
  CHECK(f.p.data()[1] == 0);
  CHECK(f.p.grad().data()[0] == 1);
}

TEST_CASE("what is not finite is skipped, counted, and halves the scale; good steps double it") {
  Fixture f;
  optim::GradScaler scaler({.scale = 8, .interval = 2});
  f.give(infinity);
  CHECK_FALSE(scaler.step(f.sgd));
  scaler.update();
  CHECK(scaler.scale() == 4);
  CHECK(scaler.skipped() == 1);
  CHECK(f.p.data()[0] == 1);
  for (int i = 0; i < 2; ++i) {
    f.give(4);
    CHECK(scaler.step(f.sgd));
    scaler.update();
  }
  CHECK(scaler.scale() == 8);
  CHECK(f.p.data()[0] == -1);
}

TEST_CASE("HP20 the scale stays finite in float") {
  Fixture f;
  optim::GradScaler scaler({.scale = 0x1p127, .interval = 1});
  f.give(1);
  scaler.step(f.sgd);
  scaler.update();
  CHECK(scaler.scale() == 0x1p127);
}

TEST_CASE("HP21 two hundred infinite steps leave a scale whose gradients are neither zero nor NaN") {
  Fixture f;
  optim::GradScaler scaler;
  for (int i = 0; i < 200; ++i) {
    f.give(infinity);
    scaler.step(f.sgd);
    scaler.update();
  }
  CHECK(scaler.scale() == 0x1p-126);
  CHECK(scaler.skipped() == 200);
  f.p.zero_grad();
  scaler.backward(matmul(f.p, tensor<float>({3, 3})));
  CHECK(scaler.step(f.sgd));
  CHECK(f.p.data()[0] == -2);
}

TEST_CASE("HP18 a gradient that half loses survives with the scale") {
  const auto gradient_of = [](double scale) {
    // 1e-8 x, computed in half and summed in float
    Tensor<float> p = ones<float>({1}).set_requires_grad();
    optim::SGD<float> sgd{std::vector<Tensor<float>>{p}, {.lr = 1}};
    optim::GradScaler scaler({.scale = scale});
    const auto y = p.to<half>().to<float>();
    scaler.backward(matmul(y, full<float>({1}, 1e-8f)));
    scaler.unscale_(sgd);
    return static_cast<double>(p.grad().item());
  };
  CHECK(gradient_of(1) == 0);
  CHECK(gradient_of(65536) == Approx(9.997165761888027e-9).epsilon(1e-12));
}

TEST_CASE("one rank's infinity is everybody's") {
  Fixture f;
  optim::GradScalerOptions options;
  options.any = [](bool) { return true; };
  optim::GradScaler scaler(options);
  f.give(1);
  CHECK_FALSE(scaler.step(f.sgd));
}

TEST_CASE("a scaler's state is saved and restored; bad options are refused") {
  Fixture f;
  optim::GradScaler scaler({.scale = 8, .interval = 2}), other({.scale = 1, .interval = 2});
  f.give(1);
  scaler.step(f.sgd);
  scaler.update();
  other.load_state_dict(scaler.state_dict());
  f.give(1);
  other.step(f.sgd);
  other.update();
  CHECK(other.scale() == 16);
  for (double scale : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 1e300})
    CHECK_THROWS_AS(optim::GradScaler({.scale = scale}), ArgumentError);
  StateDict broken = scaler.state_dict();
  StateDict infinite;
  for (const auto& [name, tensor] : broken)
    if (name == "scale")
      infinite.add(name, scalar<double>(std::numeric_limits<double>::infinity()));
    else
      infinite.add(name, tensor);
  CHECK_THROWS_AS(other.load_state_dict(infinite), ArgumentError);
  CHECK(other.scale() == 16);
}
