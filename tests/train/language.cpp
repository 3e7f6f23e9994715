// Evaluating, sampling and describing language models.
// SPDX-License-Identifier: MIT
#include <minitorch/train/language.hpp>

#include <minitorch/nn/module.hpp>
#include <tests/catch.hpp>

using namespace minitorch;

namespace {
const nn::GPTConfig config{.vocabulary = 4, .context = 8, .layers = 1, .dim = 8, .heads = 2};

// Gives the next of 0, 1, 2, 3, 0, ... a logit of `certainty`, the others 0.
struct Counter {
  using Cache = std::vector<nn::KeyValueCache<double>>;
  nn::GPTConfig config = ::config;
  double certainty = 100;
  Tensor<double> operator()(const Tensor<std::int64_t>& tokens) const {
    Tensor<double> out = zeros<double>({tokens.shape()[0], tokens.shape()[1], 4});
    for (std::int64_t i = 0; i < tokens.numel(); ++i) out.mutable_data()[i * 4 + (tokens.data()[i] + 1) % 4] = certainty;
    return out;
  }
  Tensor<double> operator()(const Tensor<std::int64_t>& tokens, Cache&) const { return (*this)(tokens); }
};
}  // namespace

TEST_CASE("BPC1 bits per character") { CHECK(train::bits_per_character(1.47) == Approx(2.1207617).epsilon(1e-8)); }

TEST_CASE("evaluation covers consecutive windows, or some that are spread evenly") {
  Tensor<std::int64_t> tokens = Tensor<std::int64_t>::empty({1001});
  for (std::int64_t i = 0; i < 1001; ++i) tokens.mutable_data()[i] = i % 4;
  CHECK(train::evaluate(Counter{config, 0}, tokens, 8, 3) == Approx(2).epsilon(1e-14));
  CHECK(train::evaluate(Counter{config, 100}, tokens, 8, 3) == Approx(0).margin(1e-12));
  CHECK(train::evaluate(Counter{config, 1}, tokens, 8, 3) == Approx(train::evaluate(Counter{config, 1}, tokens, 8, 3, 5)).epsilon(1e-14));
  CHECK_THROWS_AS(train::evaluate(Counter{}, tokens, 1001, 3), ArgumentError);
}

TEST_CASE("sampling: the likeliest, by probability, and longer than the context") {
  CHECK(train::sample(Counter{}, {1}, 20, {.temperature = 0}) ==
        std::vector<std::int64_t>{2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1});
  const auto uniform = train::sample(Counter{config, 0}, {1}, 4000);
  for (std::int64_t t = 0; t < 4; ++t) CHECK(std::abs(std::ranges::count(uniform, t) - 1000) < 120);
  CHECK(train::sample(Counter{config, 0}, {1}, 50) == std::vector<std::int64_t>(uniform.begin(), uniform.begin() + 50));
  CHECK(train::sample(Counter{config, 0}, {1}, 50, {.seed = 1}) != std::vector<std::int64_t>(uniform.begin(), uniform.begin() + 50));
  for (std::int64_t t : train::sample(Counter{config, 0}, {1}, 50, {.top_k = 1})) CHECK(t < 4);
  CHECK_THROWS_AS(train::sample(Counter{}, {}, 1), ArgumentError);
}

TEST_CASE("a cache gives the samples that reading everything again gives") {
  manual_seed(3);
  nn::GPT<double> model(config);
  for (auto& p : nn::parameters<double>(model))
    no_grad([&] { Tensor<double>(p).copy_(nn::parameter<double>(p.shape(), nn::Init::normal(0, 1))); });
  struct Uncached {
    using Cache = std::vector<nn::KeyValueCache<double>>;
    const nn::GPT<double>& model;
    nn::GPTConfig config = ::config;
    mutable std::vector<std::int64_t> seen = {};
    Tensor<double> operator()(const Tensor<std::int64_t>& tokens, Cache&) const {
      seen.insert(seen.end(), tokens.data(), tokens.data() + tokens.numel());
      return model(from_values<std::int64_t>(seen, {1, static_cast<std::int64_t>(seen.size())}));
    }
  };
  CHECK(train::sample(model, {1, 2}, 6) == train::sample(Uncached{model}, {1, 2}, 6));
  CHECK(train::sample(model, {1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}, 30).size() == 30);
}

TEST_CASE("a model describes itself") {
  const train::Vocabulary vocabulary({"a\nb\xff"});
  nn::GPTConfig c = config;
  c.tied = false;
  c.dropout = 0.1;
  auto metadata = train::describe(c, vocabulary);
  const auto read = train::read_description(metadata, "f");
  CHECK(read.vocabulary.characters() == "\nab\xff");
  CHECK(read.config.vocabulary == 4);
  CHECK(read.config.context == 8);
  CHECK(read.config.dropout == 0.1);
  CHECK_FALSE(read.config.tied);
  metadata["dim"] = "x";
  CHECK_THROWS_WITH(train::read_description(metadata, "f"), "f: its metadata's dim is 'x'");
  metadata.erase("heads");
  metadata["dim"] = "8";
  CHECK_THROWS_WITH(train::read_description(metadata, "f"), "f: is not a model of this program, its metadata has no heads");
}
