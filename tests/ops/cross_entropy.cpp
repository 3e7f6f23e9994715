// cross_entropy: by expect_op; ignored targets, weights, smoothing, probabilities, logits far apart.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <type_traits>

#include <minitorch/ops/cross_entropy.hpp>
#include <minitorch/ops/operators.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::CrossEntropyOptions;
using mt::LossReduction;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

namespace {

using Targets = Tensor<std::int64_t>;
constexpr double infinity = std::numeric_limits<double>::infinity();

double loss_of(const Tensor<double>& logits, const Targets& target, const CrossEntropyOptions& options = {}) {
  return mt::cross_entropy(logits, target, options).item();
}

// The definition, from weights and smoothed targets.
Tensor<double> reference(const Tensor<double>& x, const Targets& target, const CrossEntropyOptions& how) {
  const std::int64_t classes = x.shape().back();
  Tensor<double> loss = mt::zeros<double>(target.shape());
  double total = 0, divisor = 0;
  for (std::int64_t r = 0; r < target.numel(); ++r) {
    const std::int64_t t = target.data()[r];
    if (t == how.ignore_index) continue;
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(x.data()[r * classes + c]);
    for (std::int64_t c = 0; c < classes; ++c) {
      const double share = (c == t ? 1 - how.label_smoothing : 0) + how.label_smoothing / static_cast<double>(classes);
      const double weight = how.weight.defined() ? how.weight.data()[c] : 1;
      loss.mutable_data()[r] += weight * share * (std::log(sum) - x.data()[r * classes + c]);
    }
    total += loss.data()[r];
    divisor += how.weight.defined() ? how.weight.data()[t] : 1;
  }
  if (how.reduction == LossReduction::none) return loss;
  return mt::scalar<double>(how.reduction == LossReduction::mean ? total / divisor : total);
}

const auto example = tensor<double>({{1, 2, 3}, {0, 0, 0}});

}  // namespace

TEST_CASE("cross_entropy") {
  const auto target = tensor<std::int64_t>({4, 0, -100, 2});
  const auto weight = tensor<double>({0.5, 1, 2, 1, 3});
  for (const auto reduction : {LossReduction::mean, LossReduction::sum, LossReduction::none})
    for (const CrossEntropyOptions& options : {CrossEntropyOptions{reduction}, CrossEntropyOptions{reduction, 0.1, weight}}) {
      const auto f = [=]<class T>(const Tensor<T>& x) { return mt::cross_entropy(x, target, options).template to<T>(); };
      tests::expect_op(
          {.tolerance = 1e-12, .saved = 3}, f, [=](const Tensor<double>& x) { return reference(x, target, options); }, spread({4, 5}));
    }
}

TEST_CASE("cross_entropy of probabilities") {
  const auto f = []<class T>(const Tensor<T>& x, const Tensor<T>& p) { return mt::cross_entropy(x, p).template to<T>(); };
  const auto right = [](const Tensor<double>& x, const Tensor<double>& p) {
    double total = 0;
    for (std::int64_t r = 0; r < 3; ++r) {
      double sum = 0;
      for (std::int64_t c = 0; c < 4; ++c) sum += std::exp(x.data()[r * 4 + c]);
      for (std::int64_t c = 0; c < 4; ++c) total += p.data()[r * 4 + c] * (std::log(sum) - x.data()[r * 4 + c]) / 3;
    }
    return mt::scalar<double>(total);
  };
  tests::expect_op({.tolerance = 1e-12}, f, right, spread({3, 4}), spread({3, 4}, 0.1, 0.4, 2));
}

TEST_CASE("the loss of narrow logits is float, their gradient narrow") {
  auto x = spread({3, 5}).to<mt::bfloat16>();
  const auto loss = mt::cross_entropy(x, tensor<std::int64_t>({1, 2, 3}));
  STATIC_REQUIRE(std::is_same_v<decltype(loss), const Tensor<float>>);
  check_close(loss.to<double>(), reference(x.to<double>(), tensor<std::int64_t>({1, 2, 3}), {}), 1e-6);
}

TEST_CASE("CE01 all targets ignored") {
  auto x = tensor<double>({{1, 2, 3}});
  x.set_requires_grad();
  const auto target = tensor<std::int64_t>({-100});
  const auto mean = mt::cross_entropy(x, target);
  CHECK(std::isnan(mean.item()));
  CHECK(loss_of(x, target, {LossReduction::sum}) == 0);
  check_close(mt::cross_entropy(x, target, {LossReduction::none}).detach(), tensor<double>({0}), 0);
  mean.backward();
  check_close(x.grad(), mt::zeros<double>({1, 3}), 0);
}

TEST_CASE("CE02 one ignored of two") {
  auto x = tensor<double>({{1, 2, 3}, {1, 2, 3}});
  x.set_requires_grad();
  const auto loss = mt::cross_entropy(x, tensor<std::int64_t>({2, -100}));
  CHECK(loss.item() == Approx(0.4076059644443804).epsilon(1e-12));
  loss.backward();
  check_close(x.grad(), tensor<double>({{0.09003057317038046, 0.24472847105479764, -0.3347590442251782}, {0, 0, 0}}));
}

TEST_CASE("CE03 label smoothing") {
  auto x = tensor<double>({{1, 2, 3}});
  x.set_requires_grad();
  const auto loss = mt::cross_entropy(x, tensor<std::int64_t>({0}), {.label_smoothing = 0.1});
  CHECK(loss.item() == Approx(2.3076059644443803).epsilon(1e-12));
  loss.backward();
  check_close(x.grad(), tensor<double>({{-0.8433027601629529, 0.21139513772146432, 0.6319076224414885}}));
}

TEST_CASE("CE04 CE05 CE06 weights, smoothing and ignored targets together") {
  const auto weight = tensor<double>({.2, .3, .5});
  const auto target = tensor<std::int64_t>({0, 1});
  CHECK(loss_of(example, target, {.weight = weight}) == Approx(1.622209758978618).epsilon(1e-12));
  CHECK(loss_of(example, target, {.label_smoothing = 0.1, .weight = weight}) == Approx(1.6070699999549223).epsilon(1e-12));
  CHECK(loss_of(example, tensor<std::int64_t>({0, -100}), {.label_smoothing = 0.1}) == Approx(2.3076059644443805).epsilon(1e-12));
}

TEST_CASE("CE07 a target that is no class") {
  const auto x = tensor<double>({{1, 2, 3}});
  CHECK_THROWS_WITH(loss_of(x, tensor<std::int64_t>({3})), Catch::Contains("cross_entropy") && Catch::Contains("3"));
  CHECK_THROWS_AS(loss_of(x, tensor<std::int64_t>({-1})), mt::ArgumentError);
  CHECK_THROWS_AS(loss_of(x, tensor<std::int64_t>({1, 2})), mt::ShapeError);
}

TEST_CASE("CE08 CE09 logits far apart, and -inf") {
  CHECK(loss_of(tensor<double>({{1000, 0, 0}}), tensor<std::int64_t>({1})) == 1000);
  CHECK(loss_of(tensor<double>({{-infinity, 0, 0}}), tensor<std::int64_t>({0})) == infinity);
  CHECK(loss_of(tensor<double>({{0, -infinity}}), tensor<std::int64_t>({0})) == 0);
}

TEST_CASE("CE10 probabilities as targets") {
  const auto loss = mt::cross_entropy(tensor<double>({{1, 2, 3}}), tensor<double>({{.2, .3, .5}}));
  CHECK(loss.item() == Approx(1.1076059644443805).epsilon(1e-12));
}

TEST_CASE("CE13 BPC1 uniform logits over 65 classes, in nats and bits") {
  const double nats = loss_of(mt::zeros<double>({1, 65}), tensor<std::int64_t>({7}));
  CHECK(nats == Approx(4.174387269895637).epsilon(1e-12));
  CHECK(nats / std::log(2.0) == Approx(6.022367813028454).epsilon(1e-12));
  CHECK(1.47 / 0.6931471805599453 == Approx(2.1207617).epsilon(1e-7));
}

TEST_CASE("ZS07 cross_entropy of no rows") {
  const auto x = mt::zeros<double>({0, 3});
  const auto none = mt::zeros<std::int64_t>({0});
  CHECK(std::isnan(loss_of(x, none)));
  CHECK(loss_of(x, none, {LossReduction::sum}) == 0);
}
