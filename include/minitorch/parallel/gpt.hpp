// ParallelGPT: nn::GPT over a group of ranks. Same names, same starting numbers, same results.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <minitorch/nn/gpt.hpp>
#include <minitorch/parallel/transformer.hpp>
#include <minitorch/parallel/vocab.hpp>

namespace minitorch::parallel {

struct ParallelGPTOptions {
  bool sequence_parallel = false;  // the stream between the split regions is sharded along the sequence
  bool vocab_parallel = false;     // the table, the head and the loss are split by symbols: 1 + 3 more all-reduces
};

template <Scalar T, Scalar C = T>
class ParallelGPT {
 public:
  using Block = ParallelBlock<T, C>;

  nn::GPTConfig config;
  ParallelGPTOptions options;
  std::optional<nn::Embedding<T>> token;          // whole on every rank,
  std::optional<VocabEmbedding<T>> token_shards;  // or split by symbols
  nn::Embedding<T> position;
  nn::Dropout dropout;
  std::vector<Block> blocks;
  nn::LayerNorm<T> norm;
  std::optional<nn::Linear<T>> head;  // none when it is tied
  std::optional<ColumnLinear<T>> head_shards;

  // Throws ArgumentError or ShapeError, with the numbers, unless the shards divide heads, inner width and (sequence parallel) context.
  ParallelGPT(const Axis& axis, const nn::GPTConfig& c, const ParallelGPTOptions& o = {})
      : config(c),
        options(o),
        token(whole_table(c, o)),
        token_shards(split_table(axis, c, o)),
        position(c.context, c.dim, {nn::Init::normal(0, 0.02)}),
        dropout(c.dropout),
        blocks(new_blocks(axis, c)),
        norm(c.dim),
        axis_(axis) {
    if (o.sequence_parallel) axis.shard_length(c.context, "parallel GPT: the context");
    if (c.tied) return;
    const nn::LinearOptions plain{false, nn::Init::normal(0, 0.02), {}};
    if (o.vocab_parallel)
      head_shards.emplace(axis, c.dim, padded_vocabulary(axis, c.vocabulary), plain);
    else
      head.emplace(c.dim, c.vocabulary, plain);
  }

  // The mean cross entropy of the tokens after each of tokens [batch, length]; both are the same on every rank of the axis.
  Placed<compute_t<C>, Invariant> loss(const Tensor<std::int64_t>& tokens, const Tensor<std::int64_t>& targets) const {
    const auto x = normed(tokens);
    const std::int64_t rows = tokens.numel();
    if (!options.vocab_parallel)
      return invariant(axis_, cross_entropy(whole_logits(x).reshape({rows, config.vocabulary}), targets.reshape({rows})));
    return vocab_cross_entropy(split_logits(x, rows), targets.reshape({rows}), config.vocabulary);
  }

  // Logits [batch, length, vocabulary], whole on every rank.
  Tensor<C> logits(const Tensor<std::int64_t>& tokens) const {
    const auto x = normed(tokens);
    if (!options.vocab_parallel) return whole_logits(x);
    const Tensor<C> all = all_gather(split_logits(x, tokens.numel())).local();
    return take_range(all, 1, 0, config.vocabulary).reshape({tokens.shape()[0], tokens.shape()[1], config.vocabulary});
  }

  const Axis& axis() const { return axis_; }

  template <class Visitor>
  void visit(Visitor&& v) {
    if (token)
      v("token", *token);
    else
      v("token", *token_shards);
    v("position", position);
    v("dropout", dropout);
    v("blocks", blocks);
    v("norm", norm);
    if (head) v("head", *head);
    if (head_shards) v("head", *head_shards);
  }

 private:
  // Parts draw their random numbers in the order of visits, as those of nn::GPT do.
  static std::vector<Block> new_blocks(const Axis& axis, const nn::GPTConfig& c) {
    std::vector<Block> blocks;
    for (std::int64_t i = 0; i < c.layers; ++i) {
      nn::LayerNorm<T> norm1(c.dim);
      ParallelAttention<T> attention(axis, c.attention());
      nn::LayerNorm<T> norm2(c.dim);
      ParallelMLP<T> mlp(axis, c.dim, c.inner_width(), c.dim, c.linear(), c.residual_linear());
      blocks.push_back(Block(std::move(norm1), std::move(attention), std::move(norm2), std::move(mlp), c.dropout));
    }
    return blocks;
  }
  static std::optional<nn::Embedding<T>> whole_table(const nn::GPTConfig& c, const ParallelGPTOptions& o) {
    std::optional<nn::Embedding<T>> table;
    if (!o.vocab_parallel) table.emplace(c.vocabulary, c.dim, nn::EmbeddingOptions{nn::Init::normal(0, 0.02)});
    return table;
  }
  static std::optional<VocabEmbedding<T>> split_table(const Axis& axis, const nn::GPTConfig& c, const ParallelGPTOptions& o) {
    std::optional<VocabEmbedding<T>> table;
    if (o.vocab_parallel) table.emplace(axis, c.vocabulary, c.dim, nn::Init::normal(0, 0.02));
    return table;
  }

  // The blocks' result after the last norm, in the type that products are computed in.
  Placed<C, Invariant> normed(const Tensor<std::int64_t>& tokens) const {
    if (tokens.rank() != 2 || tokens.shape()[1] > config.context)
      fail<ShapeError>("parallel GPT: tokens must be [batch, length] with at most ", config.context, " positions, got ", tokens.shape());
    const Placed<T, Invariant> table = token ? invariant(axis_, (*token)(tokens)) : all_reduce((*token_shards)(tokens));
    const auto embedded = add(table, invariant(axis_, position.weight.slice(0, tokens.shape()[1])));
    if (!options.sequence_parallel) return norm(run(dropout(embedded))).template to<C>();
    return all_gather(norm(run(dropout(shard<sequence_dim>(embedded))))).template to<C>();
  }

  template <PlacementTag P>
  Placed<T, P> run(Placed<T, P> x) const {
    for (const Block& block : blocks) x = checkpoint(config.recompute, block, x);
    return x;
  }

  Tensor<C> whole_logits(const Placed<C, Invariant>& x) const { return head ? (*head)(x.local()) : linear(x.local(), token->weight); }
  Placed<C, Sharded<last>> split_logits(const Placed<C, Invariant>& x, std::int64_t rows) const {
    const auto flat = replicate(invariant(axis_, x.local().reshape({rows, config.dim})));
    if (head_shards) return (*head_shards)(flat);
    std::vector<Tensor<C>> parts;
    for (std::size_t i = 0; i < flat.parts().size(); ++i) parts.push_back(linear(flat.parts()[i], token_shards->weight.shards[i]));
    return {axis_, std::move(parts)};
  }

  Axis axis_;
};

}  // namespace minitorch::parallel
