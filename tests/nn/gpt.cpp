// GPT against PyTorch, its cache, its precision, recomputation and how it starts.
// SPDX-License-Identifier: MIT
#include <minitorch/nn/gpt.hpp>

#include <charconv>
#include <cmath>
#include <cstring>
#include <map>

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/io/file.hpp>
#include <minitorch/optim/adam.hpp>
#include <tests/catch.hpp>

using namespace minitorch;

namespace {

// tests/data/make_gpt.py: lines of a name, a number of values, and values as hex floats.
std::map<std::string, std::vector<double>> golden(const std::string& file) {
  const std::string text = io::read_file(MINITORCH_ROOT "/tests/data/" + file);
  std::map<std::string, std::vector<double>> out;
  std::size_t at = 0;
  const auto word = [&] {
    const std::size_t end = text.find_first_of(" \n", at);
    const std::string w = text.substr(at, end - at);
    at = end + 1;
    return w;
  };
  while (at < text.size()) {
    const std::string name = word();
    auto& values = out[name];
    for (int left = std::stoi(word()); left > 0; --left) values.push_back(std::strtod(word().c_str(), nullptr));
  }
  return out;
}

template <Scalar T, class Model>
void fill_with_sines(Model& model) {
  int j = 0;
  for_each_parameter(model, [&](const std::string& name, auto& tensor) {
    const double base = name.find("norm") != name.npos && name.ends_with("weight") ? 1 : 0;
    const NoGrad guard;
    auto* data = tensor.mutable_data();
    for (std::int64_t i = 0; i < tensor.numel(); ++i)
      data[i] = static_cast<T>(base + 0.2 * std::sin(0.7 * static_cast<double>((i + 1) * (i + 1)) + j));
    ++j;
  });
}

struct Tokens {
  Tensor<std::int64_t> inputs, targets;
  Tokens(std::int64_t batch, std::int64_t context, std::int64_t vocabulary)
      : inputs(Tensor<std::int64_t>::empty({batch, context})), targets(Tensor<std::int64_t>::empty({batch, context})) {
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t i = 0; i <= context; ++i) {
        const std::int64_t token = (7 * i + 3 * b + i * i) % vocabulary;
        if (i < context) inputs.mutable_data()[b * context + i] = token;
        if (i > 0) targets.mutable_data()[b * context + i - 1] = token;
      }
  }
};

// Loss, gradients (every `every`-th value, and their norm) and five AdamW losses, to a tolerance relative to the largest of a tensor.
template <Scalar T>
void check_against(const std::string& file, const nn::GPTConfig& config, std::int64_t batch, std::int64_t every, double tolerance) {
  const auto expected = golden(file);
  nn::GPT<T> model(config);
  fill_with_sines<T>(model);
  const Tokens tokens(batch, config.context, config.vocabulary);
  auto loss = nn::gpt_loss(model, tokens.inputs, tokens.targets);
  CHECK(static_cast<double>(loss.item()) == Approx(expected.at("loss")[0]).epsilon(tolerance));
  loss.backward();
  std::size_t compared = 0;
  for_each_parameter(model, [&](const std::string& name, const auto& tensor) {
    INFO(name);
    const auto gradient = tensor.grad();
    double squares = 0, worst = 0;
    for (auto g : gradient.values()) squares += static_cast<double>(g) * static_cast<double>(g);
    CHECK(std::sqrt(squares) == Approx(expected.at("norm." + name)[0]).epsilon(tolerance).margin(tolerance * 1e-2));
    const auto& values = expected.at("grad." + name);
    double largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      worst = (std::max)(worst, std::abs(values[i] - static_cast<double>(gradient.data()[static_cast<std::int64_t>(i) * every])));
      largest = (std::max)(largest, std::abs(values[i]));
      ++compared;
    }
    // The bias of the keys moves all scores of a row alike: its gradient is zero but for rounding.
    CHECK(worst <= tolerance * (name.ends_with("key.bias") ? 1 : (std::max)(largest, 1e-2)));
  });
  CHECK(compared > 1000);
  optim::AdamW<T> optimizer(model, {.lr = 0.01, .weight_decay = 0.1});
  for (double step : expected.at("losses")) {
    optimizer.zero_grad();
    loss = nn::gpt_loss(model, tokens.inputs, tokens.targets);
    CHECK(static_cast<double>(loss.item()) == Approx(step).epsilon(tolerance));
    loss.backward();
    optimizer.step();
  }
}

const nn::GPTConfig small{.vocabulary = 11, .context = 8, .layers = 2, .dim = 16, .heads = 4, .kv_heads = 2, .inner = 32};

template <class A, class B>
bool same_bits(const A& a, const B& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.numel()) * sizeof(*a.data())) == 0;
}

}  // namespace

TEST_CASE("a small GPT in double: PyTorch's loss, every gradient, five steps of AdamW") {
  check_against<double>("gpt_small.txt", small, 2, 1, 1e-10);
}

TEST_CASE("a character GPT in float, untied: PyTorch's loss, gradients, five steps of AdamW") {
  check_against<float>("gpt_world.txt", {.vocabulary = 30, .context = 96, .layers = 2, .dim = 64, .heads = 4, .inner = 256, .tied = false},
                       4, 97, 1e-5);
}

TEST_CASE("a recomputed GPT has the same bits, also with dropout") {
  nn::GPTConfig config = small;
  config.dropout = 0.2;
  const Tokens tokens(2, 8, 11);
  const auto gradients = [&](Recompute recompute) {
    config.recompute = recompute;
    manual_seed(4);
    nn::GPT<float> model(config);
    nn::gpt_loss(model, tokens.inputs, tokens.targets).backward();
    std::vector<Tensor<float>> found;
    for (const auto& p : nn::parameters<float>(model)) found.push_back(p.grad());
    return found;
  };
  const auto plain = gradients(Recompute::none), again = gradients(Recompute::full), products = gradients(Recompute::products);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(same_bits(plain[i], again[i]));
    CHECK(same_bits(plain[i], products[i]));
  }
}

TEST_CASE("one thread or two, the same bits") {
  const Tokens tokens(2, 8, 11);
  const auto train = [&](int threads) {
    set_num_threads(threads);
    manual_seed(4);
    nn::GPT<float> model(small);
    optim::AdamW<float> optimizer(model);
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      nn::gpt_loss(model, tokens.inputs, tokens.targets).backward();
      optimizer.step();
    }
    return nn::parameters<float>(model);
  };
  const auto one = train(1), two = train(2);
  set_num_threads(1);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(same_bits(one[i], two[i]));
}

TEST_CASE("with a cache, token by token, the logits are those of the whole") {
  nn::GPT<double> model(small);
  fill_with_sines<double>(model);
  const Tokens tokens(2, 8, 11);
  const auto whole = model(tokens.inputs);
  nn::GPT<double>::Cache cache;
  for (std::int64_t t = 0; t < 8; ++t) {
    const auto column = Tensor<std::int64_t>::empty({2, 1});
    auto next = column;
    for (std::int64_t b = 0; b < 2; ++b) next.mutable_data()[b] = tokens.inputs.data()[b * 8 + t];
    const auto logits = model(next, cache);
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t c = 0; c < 11; ++c)
        CHECK(logits.data()[b * 11 + c] == Approx(whole.data()[(b * 8 + t) * 11 + c]).epsilon(1e-12).margin(1e-14));
  }
  CHECK_THROWS_AS(model(Tensor<std::int64_t>(zeros<std::int64_t>({2, 1})), cache), ShapeError);
}

TEST_CASE("GPT<float, bfloat16>: float parameters, gradients and loss near those of float") {
  const Tokens tokens(2, 8, 11);
  nn::GPT<float> full(small);
  nn::GPT<float, bfloat16> mixed(small);
  fill_with_sines<float>(full);
  fill_with_sines<float>(mixed);
  static_assert(std::is_same_v<decltype(mixed(tokens.inputs)), Tensor<bfloat16>>);
  const auto expected = nn::gpt_loss(full, tokens.inputs, tokens.targets);
  const auto loss = nn::gpt_loss(mixed, tokens.inputs, tokens.targets);
  static_assert(std::is_same_v<decltype(loss), const Tensor<float>>);
  CHECK(loss.item() == Approx(expected.item()).epsilon(0.01));
  loss.backward();
  const auto parameters = nn::parameters<float>(mixed);
  for (const auto& p : parameters) {
    REQUIRE(p.grad().defined());
    for (float g : p.grad().values()) CHECK(std::isfinite(g));
  }
}

TEST_CASE("IN03 GPT-2's start: 0.02, residual projections 0.02 / sqrt(2 layers), biases zero") {
  nn::GPTConfig config{.vocabulary = 50, .context = 16, .layers = 12, .dim = 64, .heads = 4};
  CHECK(config.residual_deviation() == Approx(0.004082482904638631).epsilon(1e-14));
  manual_seed(1);
  nn::GPT<float> model(config);
  const auto deviation = [](const Tensor<float>& x) {
    double squares = 0;
    for (float v : x.values()) squares += static_cast<double>(v) * static_cast<double>(v);
    return std::sqrt(squares / static_cast<double>(x.numel()));
  };
  CHECK(deviation(model.blocks[3].mlp.up.weight) == Approx(0.02).epsilon(0.03));
  CHECK(deviation(model.blocks[3].mlp.down.weight) == Approx(0.0040825).epsilon(0.03));
  CHECK(deviation(model.blocks[3].attention.output.weight) == Approx(0.0040825).epsilon(0.03));
  CHECK(deviation(model.token.weight) == Approx(0.02).epsilon(0.05));
  CHECK(deviation(model.blocks[3].mlp.up.bias) == 0);
}

TEST_CASE("a clone is a model of its own with the same logits") {
  manual_seed(2);
  nn::GPT<float> model(small), copy = nn::clone(model);
  const Tokens tokens(2, 8, 11);
  CHECK(same_bits(model(tokens.inputs), copy(tokens.inputs)));
  no_grad([&] { copy.token.weight.fill_(0); });
  CHECK_FALSE(same_bits(model(tokens.inputs), copy(tokens.inputs)));
  nn::load_state_dict(copy, nn::state_dict(model));
  CHECK(same_bits(model(tokens.inputs), copy(tokens.inputs)));
}

TEST_CASE("AT09 heads that do not divide the width, and other configurations that do not fit") {
  CHECK_THROWS_WITH(nn::MultiHeadAttention<double>({.dim = 10, .heads = 3}), "attention: 3 heads do not divide a width of 10");
  nn::GPTConfig config = small;
  config.heads = 3;
  CHECK_THROWS_WITH(nn::GPT<float>(config), "attention: 3 heads do not divide a width of 16");
  config = small;
  config.kv_heads = 3;
  CHECK_THROWS_WITH(nn::GPT<float>(config), "attention: 3 kv heads do not divide 4 heads");
  config = small;
  config.vocabulary = 0;
  CHECK_THROWS_AS(nn::GPT<float>(config), ArgumentError);
  nn::GPT<float> model(small);
  CHECK_THROWS_AS(model(zeros<std::int64_t>({1, 9})), ShapeError);
  CHECK_THROWS_AS(model(full<std::int64_t>({1, 2}, 11)), ArgumentError);
}
