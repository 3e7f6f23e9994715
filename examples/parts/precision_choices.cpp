// What each choice of precision does to a sum, a product, a small gradient, a small step, and a training run.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <string>

#include <examples/parts/mixed_precision.hpp>
#include <minitorch/minitorch.hpp>

namespace examples {

namespace mt = minitorch;

const support::Part precision_choices_part{"precision_choices",
                                           "Precision: what each choice does to a sum, a product, a step, a training run",
                                           {{"half_running_sum", "4,096 ones added one by one in half"},
                                            {"half_sum", "sum() of a half tensor of them: float inside"},
                                            {"bfloat16_running_sum", "4,096 ones added one by one in bfloat16"},
                                            {"bfloat16_sum", "sum() of a bfloat16 tensor of them"},
                                            {"half_mean", "mean() of 70,000 ones in half, whose sum half cannot hold"},
                                            {"bfloat16_product", "1 x 4096 by 4096 x 1 ones in bfloat16"},
                                            {"half_product_error", "64 x 512 by 512 x 64 in half: largest error, relative"},
                                            {"bfloat16_product_error", "the same in bfloat16"},
                                            {"half_gradient", "a gradient of 1e-8 that passes through half"},
                                            {"half_gradient_scaled", "the same with a loss scale of 65536, unscaled"},
                                            {"bfloat16_steps", "1,000 steps of 0.001 from 1, added in bfloat16"},
                                            {"bfloat16_master_steps", "the same by an optimizer, which keeps a float master"},
                                            {"float_loss", "sin(x) learned in float: last loss"},
                                            {"bfloat16_loss", "in bfloat16, with float parameters"},
                                            {"half_loss", "in half, with float parameters and a loss scale"},
                                            {"bfloat16_parameters_loss", "in bfloat16, parameters too"},
                                            {"skipped", "steps that the loss scale skipped"},
                                            {"all_learn", "all losses are below a hundredth of the first"}}};

namespace {

template <class T>
double running_sum(int count) {
  mt::Tensor<T> sum = mt::zeros<T>({1});
  for (int i = 0; i < count; ++i) sum = sum + mt::ones<T>({1});
  return static_cast<double>(static_cast<float>(sum.item()));
}

template <class T>
double number(const mt::Tensor<T>& x) {
  return static_cast<double>(static_cast<mt::compute_t<T>>(x.item()));
}

// The largest error of a product whose operands are rounded to T beside that of the same operands in double.
template <class T>
double product_error() {
  mt::manual_seed(5);
  const auto a = mt::nn::parameter<float>({64, 512}, mt::nn::Init::normal(0, 1)).detach().template to<T>();
  const auto b = mt::nn::parameter<float>({512, 64}, mt::nn::Init::normal(0, 1)).detach().template to<T>();
  const auto got = mt::matmul(a, b).template to<double>(), right = mt::matmul(a.template to<double>(), b.template to<double>());
  return number(mt::max(mt::abs(got - right))) / number(mt::max(mt::abs(right)));
}

// The gradient 1e-8 on its way through half.
double gradient_through_half(double scale) {
  auto p = mt::ones<float>({1}).set_requires_grad();
  mt::optim::SGD<float> sgd{std::vector<mt::Tensor<float>>{p}, {}};
  mt::optim::GradScaler scaler({.scale = scale});
  scaler.backward(mt::sum(p.to<mt::half>().to<float>() * 1e-8f));
  scaler.unscale_(sgd);
  return number(p.grad());
}

struct Learned {
  double first, last;
  std::int64_t skipped;
};

// An MLP learns sin(x): activations in A, parameters in P.
template <class A, class P>
Learned learn(bool scaled) {
  mt::manual_seed(6);
  const auto x = mt::arange<float>(-32, 32).reshape({64, 1}) / 10;
  const auto right = mt::sin(x);
  mt::nn::Sequential net(mt::nn::Linear<P>(1, 32), mt::nn::Tanh(), mt::nn::Linear<P>(32, 1));
  mt::optim::AdamW<P> adam(net, {.lr = 1e-2, .weight_decay = 0});
  mt::optim::GradScaler scaler({.scale = scaled ? 65536.0 : 1.0});
  Learned out{};
  for (int step = 0; step < 400; ++step) {
    adam.zero_grad();
    const auto loss = mt::mse_loss(net(x.template to<A>()).template to<float>(), right);
    scaler.backward(loss);
    scaler.step(adam);
    scaler.update();
    (step == 0 ? out.first : out.last) = number(loss);
  }
  out.skipped = scaler.skipped();
  return out;
}

}  // namespace

void precision_choices(support::Report& report) {
  report.begin(precision_choices_part);
  report.check("half_running_sum", running_sum<mt::half>(4096), 2048.0);
  report.check("half_sum", number(mt::sum(mt::ones<mt::half>({4096}))), 4096.0);
  report.check("bfloat16_running_sum", running_sum<mt::bfloat16>(4096), 256.0);
  report.check("bfloat16_sum", number(mt::sum(mt::ones<mt::bfloat16>({4096}))), 4096.0);
  report.check("half_mean", number(mt::mean(mt::ones<mt::half>({70000}))), 1.0);
  report.check("bfloat16_product", number(mt::matmul(mt::ones<mt::bfloat16>({1, 4096}), mt::ones<mt::bfloat16>({4096, 1}))), 4096.0);
  report.at_most("half_product_error", product_error<mt::half>(), 0x1p-11);
  report.at_most("bfloat16_product_error", product_error<mt::bfloat16>(), 0x1p-8);
  report.check("half_gradient", gradient_through_half(1), 0.0);
  report.check("half_gradient_scaled", gradient_through_half(65536), 9.997165761888027e-9, 1e-20);

  auto alone = mt::ones<mt::bfloat16>({1});
  for (int i = 0; i < 1000; ++i) alone = alone + 0.001f;
  report.check("bfloat16_steps", number(alone), 1.0);
  auto p = mt::ones<mt::bfloat16>({1}).set_requires_grad();
  mt::optim::SGD<mt::bfloat16> sgd{std::vector<mt::Tensor<mt::bfloat16>>{p}, {.lr = 0.001}};
  for (int i = 0; i < 1000; ++i) {
    sgd.zero_grad();
    mt::sum(-p).backward();
    sgd.step();
  }
  report.check("bfloat16_master_steps", number(p), 2.0);

  const Learned wide = learn<float, float>(false), low = learn<mt::bfloat16, float>(false), half = learn<mt::half, float>(true),
                all_low = learn<mt::bfloat16, mt::bfloat16>(false);
  report.show("float_loss", wide.last);
  report.show("bfloat16_loss", low.last);
  report.show("half_loss", half.last);
  report.show("bfloat16_parameters_loss", all_low.last);
  report.show("skipped", half.skipped);
  bool learned = true;
  for (const Learned& run : {wide, low, half, all_low}) learned = learned && run.last < run.first / 100;
  report.check("all_learn", learned);
  report.end();
}

}  // namespace examples
