// Linear, MLP and Sequential: values, names, precision, what they start with.
// SPDX-License-Identifier: MIT
#include <minitorch/nn/linear.hpp>

#include <cstring>

#include <minitorch/nn/nn.hpp>
#include <tests/catch.hpp>

using namespace minitorch;

namespace {
template <class M>
std::vector<std::string> names(M& module) {
  std::vector<std::string> found;
  for_each_tensor(module, [&](const std::string& name, const auto&) { found.push_back(name); });
  return found;
}
}  // namespace

TEST_CASE("linear multiplies by the transposed weight and adds the bias") {
  const nn::Linear<double> layer(tensor<double>({{1, 2}, {3, 4}, {5, 6}}), tensor<double>({10, 20, 30}));
  const auto y = layer(tensor<double>({{1, 1}, {0, 1}}));
  CHECK(std::vector<double>(y.values().begin(), y.values().end()) == std::vector<double>{13, 27, 41, 12, 24, 36});
  const nn::Linear<double> without(2, 3, {.bias = false});
  CHECK_FALSE(without.bias.defined());
  CHECK_THROWS_AS(layer(zeros<double>({2, 3})), ShapeError);
}

TEST_CASE("a float layer computes in bfloat16 for bfloat16 activations; its gradients stay float") {
  nn::Linear<float> layer(8, 4);
  const auto y = layer(ones<bfloat16>({2, 8}));
  static_assert(std::is_same_v<decltype(y), const Tensor<bfloat16>>);
  static_assert(std::is_same_v<decltype(layer.weight.grad()), Tensor<float>>);
  sum(y.to<float>()).backward();
  CHECK(layer.weight.grad().data()[0] == 2);
  CHECK(layer.bias.grad().data()[3] == 2);
  const auto z = nn::as<bfloat16>(layer)(ones<float>({2, 8}));
  static_assert(std::is_same_v<decltype(z), const Tensor<bfloat16>>);
  CHECK(std::memcmp(y.data(), z.data(), 16) == 0);
}

TEST_CASE("PyTorch's initialisation: uniform within 1 / sqrt(in), for the bias too") {
  manual_seed(1);
  const nn::Linear<double> layer(400, 300);
  double low = 1, high = -1, squares = 0;
  for (double w : layer.weight.values()) {
    low = (std::min)(low, w);
    high = (std::max)(high, w);
    squares += w * w;
  }
  CHECK(low >= -.05);
  CHECK(low < -.0499);
  CHECK(high <= .05);
  CHECK(high > .0499);
  CHECK(std::sqrt(squares / 120000) == Approx(.05 / std::sqrt(3)).epsilon(.01));
  for (double b : layer.bias.values()) CHECK(std::abs(b) <= .05);
}

TEST_CASE("a slice of a layer starts as its part of the whole") {
  manual_seed(7);
  const nn::Linear<float> whole(6, 8);
  manual_seed(7);
  const nn::Linear<float> rows(nn::Window{{2, 0}, {4, 6}, {8, 6}});
  CHECK(std::memcmp(rows.weight.data(), whole.weight.data() + 12, 24 * sizeof(float)) == 0);
  CHECK(std::memcmp(rows.bias.data(), whole.bias.data() + 2, 4 * sizeof(float)) == 0);
  manual_seed(7);
  const nn::Linear<float> columns(nn::Window{{0, 3}, {8, 3}, {8, 6}});
  for (int i = 0; i < 8; ++i) CHECK(std::memcmp(columns.weight.data() + 3 * i, whole.weight.data() + 6 * i + 3, 12) == 0);
}

TEST_CASE("IN02 the truncated normal distribution") {
  manual_seed(3);
  const auto x = nn::parameter<double>({100000}, nn::Init::truncated_normal(0, 1, -2, 2));
  double squares = 0, largest = 0;
  for (double v : x.values()) {
    squares += v * v;
    largest = (std::max)(largest, std::abs(v));
  }
  CHECK(largest <= 2);
  CHECK(std::sqrt(squares / 1e5) == Approx(0.879625661).epsilon(.005));
}

TEST_CASE("parameters are the same for any number of threads, and each takes one stream") {
  const auto make = [](int threads) {
    set_num_threads(threads);
    manual_seed(5);
    auto p = nn::parameter<float>({300, 500}, nn::Init::normal(0, 1));
    CHECK(thread_state.next_stream == 1);
    return p;
  };
  const auto one = make(1), two = make(2);
  set_num_threads(1);
  CHECK(std::memcmp(one.data(), two.data(), 600000) == 0);
}

TEST_CASE("parts are named by what they are in, and run one after the other") {
  nn::Sequential net(nn::Linear<double>(3, 5), nn::GELU(), nn::MLP<double>(5, 7, 2));
  CHECK(names(net) == std::vector<std::string>{"0.weight", "0.bias", "2.up.weight", "2.up.bias", "2.down.weight", "2.down.bias"});
  const auto x = ones<double>({4, 3});
  const auto& [first, activation, mlp] = net.parts;
  const auto expected = mlp.down(gelu(mlp.up(gelu(first(x)))));
  const auto copy = nn::clone(net);
  CHECK(std::memcmp(copy(x).data(), expected.data(), 8 * sizeof(double)) == 0);
}
