// Embedding, norms, dropout and attention as modules.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/nn/attention.hpp>
#include <minitorch/nn/dropout.hpp>
#include <minitorch/nn/embedding.hpp>
#include <minitorch/nn/norm.hpp>
#include <minitorch/ops/ops.hpp>
#include <tests/catch.hpp>

using namespace minitorch;

namespace {
struct WithDropout {
  nn::Dropout drop{1};
  template <class V>
  void visit(V&& v) {
    v("drop", drop);
  }
};
}  // namespace

TEST_CASE("an embedding's padding row starts at zero and gets no gradient") {
  nn::Embedding<double> table(5, 3, {{}, 2});
  const auto y = table(tensor<std::int64_t>({{2, 4}, {0, 2}}));
  CHECK(y.shape() == Shape{2, 2, 3});
  CHECK(y.data()[0] == 0);
  CHECK(std::memcmp(y.data() + 3, table.weight.data() + 12, 24) == 0);
  sum(y).backward();
  const auto g = table.weight.grad();
  CHECK(g.data()[12] == 1);
  CHECK(g.data()[6] == 0);
  CHECK_THROWS_AS(table(tensor<std::int64_t>({5})), ArgumentError);
  CHECK_THROWS_AS(nn::Embedding<double>(5, 3, {{}, 5}), ArgumentError);
}

TEST_CASE("norms start as plain normalisation") {
  const auto x = tensor<double>({{1, 2, 3, 4}, {-2, 0, 0, 2}});
  const auto y = nn::LayerNorm<double>(4)(x);
  CHECK(y.data()[0] == Approx(-1.5 / std::sqrt(1.25 + 1e-5)).epsilon(1e-14));
  const auto z = nn::RMSNorm<double>(4)(x);
  CHECK(z.data()[3] == Approx(4 / std::sqrt(7.5 + 1e-5)).epsilon(1e-14));
}

TEST_CASE("DR01 dropout with p = 0, in use, and with p = 1") {
  Tensor<double> x = ones<double>({8}).set_requires_grad();
  CHECK(nn::Dropout(0)(x).values()[3] == 1);
  WithDropout module;
  nn::eval(module);
  CHECK(module.drop(x).values()[3] == 1);
  nn::train(module);
  const auto y = module.drop(x);
  sum(y).backward();
  for (int i = 0; i < 8; ++i) {
    CHECK(y.data()[i] == 0);
    CHECK(x.grad().data()[i] == 0);
  }
}

TEST_CASE("DR02 a probability outside of [0, 1] is refused") {
  CHECK_THROWS_WITH(nn::Dropout(1.5), "Dropout: p must be in [0, 1], got 1.5");
  CHECK_THROWS_AS(nn::Dropout(std::nan("")), ArgumentError);
}

TEST_CASE("attention without a causal mask sees everything, with it the past alone") {
  manual_seed(1);
  nn::MultiHeadAttention<double> causal({.dim = 8, .heads = 2});
  nn::MultiHeadAttention<double> all = nn::clone(causal);
  all.causal = false;
  const auto x = nn::parameter<double>({1, 5, 8}, nn::Init::normal(0, 1));
  const auto gradient_of_first = [&](const auto& module, std::int64_t position) {
    sum(square(module(x)[0].slice(position, position + 1))).backward();
    const auto g = x.grad();
    double last = 0;
    for (int i = 32; i < 40; ++i) last += std::abs(g.data()[i]);
    Tensor<double>(x).zero_grad();
    return last;
  };
  CHECK(gradient_of_first(causal, 0) == 0);
  CHECK(gradient_of_first(all, 0) > 0);
  CHECK(gradient_of_first(causal, 4) > 0);
}

TEST_CASE("shared keys and values: fewer parameters, the same as repeated ones") {
  manual_seed(1);
  nn::MultiHeadAttention<double> shared({.dim = 8, .heads = 4, .kv_heads = 2});
  CHECK(shared.key.weight.shape() == Shape{4, 8});
  const auto repeated = [](const nn::Linear<double>& layer) {
    Tensor<double> w = Tensor<double>::empty({8, 8}), b = Tensor<double>::empty({8});
    for (std::int64_t row = 0; row < 8; ++row) {
      const std::int64_t from = row / 4 * 2 + row % 2;
      std::copy_n(layer.weight.data() + from * 8, 8, w.mutable_data() + row * 8);
      b.mutable_data()[row] = layer.bias.data()[from];
    }
    return nn::Linear<double>(w, b);
  };
  const nn::MultiHeadAttention<double> whole(shared.query.clone(), repeated(shared.key), repeated(shared.value), shared.output.clone(), 4,
                                             4, true);
  const auto x = nn::parameter<double>({2, 5, 8}, nn::Init::normal(0, 1));
  const auto a = shared(x), b = whole(x);
  for (int i = 0; i < 80; ++i) CHECK(a.data()[i] == Approx(b.data()[i]).epsilon(1e-13));
}
