// GPT: a decoder-only transformer over tokens (Radford et al., 2019).
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <minitorch/autograd/checkpoint.hpp>
#include <minitorch/nn/embedding.hpp>
#include <minitorch/nn/transformer.hpp>
#include <minitorch/ops/cross_entropy.hpp>

namespace minitorch::nn {

struct GPTConfig {
  std::int64_t vocabulary = 0, context = 0, layers = 0, dim = 0, heads = 1;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t inner = 0;     // width between the layers of an MLP; 0: 4 dim
  double dropout = 0;
  bool tied = true;                       // the head is the table of token embeddings
  Recompute recompute = Recompute::none;  // what the blocks compute again in the backward pass

  std::int64_t inner_width() const { return inner == 0 ? 4 * dim : inner; }
  // GPT-2's start: normal with 0.02, biases zero, and smaller where a block adds to the residual stream, so that depth does not.
  LinearOptions linear() const { return {true, Init::normal(0, 0.02), Init::constant(0)}; }
  LinearOptions residual_linear() const { return {true, Init::normal(0, residual_deviation()), Init::constant(0)}; }
  double residual_deviation() const { return 0.02 / std::sqrt(2.0 * static_cast<double>(layers)); }
  AttentionSettings attention() const { return {dim, heads, kv_heads, true, linear(), residual_linear()}; }
};

// Parameters of T. C is the type in which blocks and head compute: with GPT<float, bfloat16> products run in bfloat16, while the
// residual stream, norms, loss and gradients of parameters are float.
template <Scalar T, Scalar C = T>
class GPT : detail::MoveOnly {
 public:
  using Block = TransformerBlock<T, C>;
  using Cache = std::vector<KeyValueCache<C>>;

  GPTConfig config;
  Embedding<T> token, position;
  Dropout dropout;
  std::vector<Block> blocks;
  LayerNorm<T> norm;
  std::optional<Linear<T>> head;  // none when it is tied

  // Throws ArgumentError for sizes below 1 or heads that do not divide the width.
  explicit GPT(const GPTConfig& c)
      : config(checked(c)),
        token(c.vocabulary, c.dim, {Init::normal(0, 0.02)}),
        position(c.context, c.dim, {Init::normal(0, 0.02)}),
        dropout(c.dropout),
        blocks(new_blocks(c)),
        norm(c.dim) {
    if (!c.tied) head.emplace(c.dim, c.vocabulary, LinearOptions{false, Init::normal(0, 0.02)});
  }

  GPT clone() const { return GPT(*this, 0); }

  // Logits [batch, length, vocabulary] of the token after each of tokens [batch, length]. Throws ShapeError for more tokens than the
  // context has, ArgumentError for one that is not in the vocabulary.
  Tensor<C> operator()(const Tensor<std::int64_t>& tokens) const {
    Tensor<T> x = embedded(tokens, 0);
    for (const Block& block : blocks) x = checkpoint(config.recompute, block, x);
    return logits(x);
  }

  // The tokens follow those in the cache, which grows by them: what generation uses. Without gradients.
  Tensor<C> operator()(const Tensor<std::int64_t>& tokens, Cache& cache) const {
    const NoGrad guard;
    cache.resize(blocks.size());
    Tensor<T> x = embedded(tokens, cache.empty() ? 0 : cache[0].length());
    for (std::size_t i = 0; i < blocks.size(); ++i) x = blocks[i](x, cache[i]);
    return logits(x);
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("token", token);
    v("position", position);
    v("dropout", dropout);
    v("blocks", blocks);
    v("norm", norm);
    v("head", head);
  }

 private:
  GPT(const GPT& other, int)
      : config(other.config),
        token(other.token.clone()),
        position(other.position.clone()),
        dropout(other.dropout),
        blocks(detail::Cloner::copy(other.blocks)),
        norm(other.norm.clone()),
        head(detail::Cloner::copy(other.head)) {}

  // Parameters draw their random numbers in the order of visits.
  static std::vector<Block> new_blocks(const GPTConfig& c) {
    std::vector<Block> made;
    for (std::int64_t i = 0; i < c.layers; ++i) {
      LayerNorm<T> norm1(c.dim);
      MultiHeadAttention<T> attention(c.attention());
      LayerNorm<T> norm2(c.dim);
      MLP<T> mlp(c.dim, c.inner_width(), c.dim, c.linear(), c.residual_linear());
      made.push_back(Block(std::move(norm1), std::move(attention), std::move(norm2), std::move(mlp), c.dropout));
    }
    return made;
  }

  static const GPTConfig& checked(const GPTConfig& c) {
    if (c.vocabulary < 1 || c.context < 1 || c.layers < 0 || c.dim < 1)
      fail<ArgumentError>("GPT: vocabulary, context and dim must be at least 1 and layers at least 0, got ", c.vocabulary, ", ", c.context,
                          ", ", c.dim, " and ", c.layers);
    c.attention().checked();
    return c;
  }

  Tensor<T> embedded(const Tensor<std::int64_t>& tokens, std::int64_t first) const {
    if (tokens.rank() != 2 || first + tokens.shape()[1] > config.context)
      fail<ShapeError>("GPT: tokens must be [batch, length] with at most ", config.context, " positions, got ", tokens.shape(), " after ",
                       first);
    return dropout(add(token(tokens), position.weight.slice(first, first + tokens.shape()[1])));
  }

  Tensor<C> logits(const Tensor<T>& x) const {
    const auto normed = norm(x).template to<C>();
    return head ? (*head)(normed) : linear(normed, token.weight);
  }
};

// The mean cross entropy of the tokens after each position.
template <Scalar T, Scalar C>
auto gpt_loss(const GPT<T, C>& model, const Tensor<std::int64_t>& tokens, const Tensor<std::int64_t>& targets) {
  return cross_entropy(model(tokens), targets);
}

}  // namespace minitorch::nn
