// Language models in use: bits per character, sampling, and models as files.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <minitorch/io/safetensors.hpp>
#include <minitorch/nn/gpt.hpp>
#include <minitorch/train/text.hpp>

namespace minitorch::train {

// Bits per character from a mean cross entropy in nats.
inline double bits_per_character(double cross_entropy) { return cross_entropy / std::numbers::ln2; }

// The part of an evaluation that one of several ranks does. `add` sums numbers over them; by default there is one rank.
struct EvaluationShare {
  std::int64_t rank = 0, ranks = 1;
  std::function<void(std::vector<double>&)> add = {};
};

// The mean bits per character over consecutive windows of `context` tokens, `batch` of them at once; over at most `windows_at_most`,
// which are then spread evenly. The same bits however many ranks share it. Throws ArgumentError for fewer tokens than one window and the
// next one.
template <class Model>
double evaluate(const Model& model, const Tensor<std::int64_t>& tokens, std::int64_t context, std::int64_t batch,
                std::int64_t windows_at_most = INT64_MAX, const EvaluationShare& share = {}) {
  const NoGrad guard;
  const std::int64_t all = (tokens.numel() - 1) / context, used = (std::min)(all, windows_at_most);
  if (used < 1)
    fail<ArgumentError>("evaluate: ", tokens.numel(), " characters are too few for a context of ", context, " and the next one");
  std::vector<double> sums(static_cast<std::size_t>((used + batch - 1) / batch), 0.0);
  for (std::int64_t piece = share.rank; piece * batch < used; piece += share.ranks) {
    const std::int64_t first = piece * batch, count = (std::min)(batch, used - first);
    const Batch inside = windows(tokens, count, context, [&](std::int64_t i) { return (first + i) * all / used * context; });
    const auto loss = cross_entropy(model(inside.inputs), inside.targets);
    sums[static_cast<std::size_t>(piece)] = static_cast<double>(loss.item()) * static_cast<double>(count);
  }
  if (share.add) share.add(sums);  // each from the one rank that has it
  return bits_per_character(std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(used));
}

struct SampleOptions {
  double temperature = 1;  // 0: always the likeliest token
  std::int64_t top_k = 0;  // only the k likeliest; 0: all
  std::uint64_t seed = 0;
};

namespace detail {

// An index drawn by logits.
inline std::int64_t draw_token(std::span<const double> logits, const SampleOptions& options, double u) {
  std::vector<std::int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](std::int64_t i) { return logits[static_cast<std::size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return at(a) > at(b); });
  if (options.temperature <= 0) return order[0];
  if (options.top_k > 0 && options.top_k < static_cast<std::int64_t>(order.size())) order.resize(static_cast<std::size_t>(options.top_k));
  const auto weight = [&](std::int64_t i) { return std::exp((at(i) - at(order[0])) / options.temperature); };
  double total = 0;
  for (std::int64_t i : order) total += weight(i);
  double rest = u * total;
  for (std::int64_t i : order)
    if ((rest -= weight(i)) < 0) return i;
  return order.back();
}

}  // namespace detail

// `count` tokens that follow `prompt`, one after the other. When the context is full, its newer half is read again.
template <class Model>
std::vector<std::int64_t> sample(const Model& model, std::vector<std::int64_t> prompt, std::int64_t count,
                                 const SampleOptions& options = {}) {
  if (prompt.empty()) fail<ArgumentError>("sample: there must be at least one token to start from");
  const Draws draw(options.seed, 0x73616d706c65);
  typename Model::Cache cache;
  std::vector<std::int64_t> out, next = std::move(prompt), seen;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto limit = static_cast<std::size_t>(model.config.context);
    seen.insert(seen.end(), next.begin(), next.end());
    if ((cache.empty() ? 0 : static_cast<std::size_t>(cache[0].length())) + next.size() > limit) {
      seen.erase(seen.begin(), seen.end() - static_cast<std::ptrdiff_t>((limit + 1) / 2));
      next = seen;
      cache.clear();
    }
    const auto tokens = from_values<std::int64_t>(next, {1, static_cast<std::int64_t>(next.size())});
    const auto logits = model(tokens, cache).template to<double>();
    const auto last = logits.values().last(static_cast<std::size_t>(model.config.vocabulary));
    next = {detail::draw_token(last, options, draw.uniform(static_cast<std::uint64_t>(i)))};
    out.push_back(next[0]);
  }
  return out;
}

// The configuration and the vocabulary as text, to be kept with the parameters.
inline io::Metadata describe(const nn::GPTConfig& config, const Vocabulary& vocabulary) {
  std::string codes;
  for (char c : vocabulary.characters()) codes += concat(codes.empty() ? "" : " ", int{static_cast<unsigned char>(c)});
  return {{"format", "pt"},
          {"vocabulary", codes},
          {"context", concat(config.context)},
          {"layers", concat(config.layers)},
          {"dim", concat(config.dim)},
          {"heads", concat(config.heads)},
          {"kv_heads", concat(config.kv_heads)},
          {"inner", concat(config.inner)},
          {"dropout", concat(config.dropout)},
          {"tied", config.tied ? "1" : "0"}};
}

struct Description {
  nn::GPTConfig config;
  Vocabulary vocabulary;
};

// The configuration in a model file. Throws IoError for a file without one.
inline Description read_description(const io::Metadata& metadata, const std::string& file) {
  const auto text = [&](const char* key) -> const std::string& {
    const auto found = metadata.find(key);
    if (found == metadata.end()) fail<IoError>(file, ": is not a model of this program, its metadata has no ", key);
    return found->second;
  };
  const auto read = [&](const char* key, auto& value) {
    const std::string& digits = text(key);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) fail<IoError>(file, ": its metadata's ", key, " is '", digits, "'");
  };
  nn::GPTConfig config;
  int tied = 0;
  read("context", config.context);
  read("layers", config.layers);
  read("dim", config.dim);
  read("heads", config.heads);
  read("kv_heads", config.kv_heads);
  read("inner", config.inner);
  read("dropout", config.dropout);
  read("tied", tied);
  config.tied = tied != 0;
  std::string characters;
  const std::string& codes = text("vocabulary");
  for (const char *at = codes.data(), *end = at + codes.size(); at < end; ++at) {
    unsigned char code = 0;
    const auto [rest, error] = std::from_chars(at, end, code);
    if (error != std::errc()) fail<IoError>(file, ": its metadata's vocabulary is '", codes, "'");
    characters += static_cast<char>(code);
    at = rest;
  }
  Vocabulary vocabulary({characters});
  config.vocabulary = vocabulary.size();
  return {config, std::move(vocabulary)};
}

}  // namespace minitorch::train
