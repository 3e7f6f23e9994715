// Clipping by norm and by value.
// SPDX-License-Identifier: MIT
#include <minitorch/optim/clip.hpp>

#include <tests/catch.hpp>

using namespace minitorch;

namespace {

template <Scalar T>
std::vector<Tensor<T>> with_gradients(std::initializer_list<T> gradients) {
  std::vector<Tensor<T>> parameters;
  for (T g : gradients) {
    parameters.push_back(zeros<T>({1}).set_requires_grad());
    parameters.back().set_grad(full<T>({1}, g));
  }
  return parameters;
}

template <Scalar T>
void check_grads(const std::vector<Tensor<T>>& parameters, std::initializer_list<double> expected, double tolerance = 1e-12) {
  std::size_t i = 0;
  for (double e : expected) CHECK(static_cast<double>(parameters[i++].grad().item()) == Approx(e).epsilon(tolerance));
}

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("CL01 CL02 CL03 the norm is the one before clipping; at and below the bound") {
  auto p = with_gradients<double>({3, 4});
  CHECK(optim::clip_grad_norm_(p, 1) == 5);
  check_grads(p, {0.599999880000024, 0.799999840000032});
  p = with_gradients<double>({3, 4});
  CHECK(optim::clip_grad_norm_(p, 5) == 5);
  check_grads(p, {2.99999940000012, 3.99999920000016});
  p = with_gradients<double>({.3, .4});
  optim::clip_grad_norm_(p, 1);
  check_grads(p, {.3, .4}, 0);
  p = with_gradients<double>({0, 0});
  CHECK(optim::clip_grad_norm_(p, 1) == 0);
  check_grads(p, {0, 0});
}

TEST_CASE("CL05 squares that overflow do not") {
  Tensor<float> p = zeros<float>({100}).set_requires_grad();
  p.set_grad(full<float>({100}, 1e20f));
  CHECK(optim::clip_grad_norm_(std::vector{p}, 1) == Approx(1e21).epsilon(1e-6));
  CHECK(p.grad().data()[99] == Approx(.1f).epsilon(1e-6));
  auto large = with_gradients<double>({3e200, 4e200});
  CHECK(optim::clip_grad_norm_(large, 1) == Approx(5e200).epsilon(1e-15));
  check_grads(large, {.6, .8});
  CHECK(optim::grad_norm(with_gradients<double>({3e-200, 4e-200})) == Approx(5e-200).epsilon(1e-15));
}

TEST_CASE("CL06 other norms") {
  auto p = with_gradients<double>({3, -4});
  CHECK(optim::clip_grad_norm_(p, 1, {.norm_type = infinity}) == 4);
  check_grads(p, {.7499998125, -.99999975}, 1e-7);
  p = with_gradients<double>({3, -4});
  CHECK(optim::clip_grad_norm_(p, 1, {.norm_type = 1}) == 7);
  check_grads(p, {.428571367, -.571428490}, 1e-8);
}

TEST_CASE("CL07 no gradients, no norm") {
  CHECK(optim::clip_grad_norm_(std::vector<Tensor<double>>{}, 1) == 0);
  CHECK(optim::clip_grad_norm_(std::vector{zeros<double>({2}).set_requires_grad()}, 1) == 0);
}

TEST_CASE("norms that are not finite are an error on demand") {
  auto p = with_gradients<double>({1, infinity});
  CHECK_THROWS_WITH(optim::clip_grad_norm_(p, 1, {.error_if_nonfinite = true}), "clip_grad_norm_: the norm of the gradients is inf");
  check_grads(p, {1, infinity});
  CHECK(std::isnan(optim::grad_norm(with_gradients<float>({1, std::nanf("")}))));
}

TEST_CASE("parameters that are spread over ranks combine their norms") {
  auto p = with_gradients<double>({3});
  optim::ClipOptions options;
  options.combine = [](double mine) { return std::hypot(mine, 4); };
  CHECK(optim::clip_grad_norm_(p, 1, options) == 5);
  check_grads(p, {0.599999880000024});
}

TEST_CASE("values are clipped one by one") {
  auto p = with_gradients<double>({-3, .5, infinity, std::nan("")});
  optim::clip_grad_value_(p, 1);
  check_grads(p, {-1, .5, 1});
  CHECK(std::isnan(p[3].grad().item()));
}
