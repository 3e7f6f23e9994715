// A vocabulary cut over ranks: the embedding, and the cross entropy of sharded logits, which are never gathered.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <minitorch/kernels/map.hpp>
#include <minitorch/kernels/math.hpp>
#include <minitorch/kernels/reduce.hpp>
#include <minitorch/parallel/moves.hpp>
#include <minitorch/parallel/sharded_parameter.hpp>

namespace minitorch::parallel {

namespace detail {

// value     row index[i] - first of W ([rows, width]) where there is one, zeros elsewhere
// gradient  the rows of dy added to the rows they came from
// saves     index
template <Scalar T>
Tensor<T> owned_rows(const Tensor<T>& weight, const Tensor<std::int64_t>& index, std::int64_t first) {
  const std::int64_t rows = weight.shape()[0], width = weight.shape()[1];
  Shape shape = index.shape();
  shape.push_back(width);
  return record<T>(
      "owned_rows", shape,
      [&](T* out) {
        for (std::int64_t row : index.values()) {
          const bool owned = row >= first && row < first + rows;
          out = owned ? std::copy_n(weight.data() + (row - first) * width, width, out) : std::fill_n(out, width, T(0));
        }
      },
      wrt(
          weight,
          [](const Tensor<T>& dy, const Tensor<std::int64_t>& tokens, std::int64_t from, std::int64_t count, std::int64_t columns) {
            std::vector<std::int64_t> places, targets;
            for (std::int64_t i = 0; i < tokens.numel(); ++i) {
              const std::int64_t row = tokens.data()[i] - from;
              if (row < 0 || row >= count) continue;
              places.push_back(i);
              targets.push_back(row);
            }
            const Shape found{static_cast<std::int64_t>(places.size())};
            const auto flat = dy.reshape({tokens.numel(), columns});
            return RowScatter<T>{take_rows(flat, from_values<std::int64_t>(places, found)), from_values<std::int64_t>(targets, found)};
          },
          index, first, rows, width));
}

}  // namespace detail

// The vocabulary's size, made divisible by the shards. What is beyond takes no part in the loss and is never saved.
inline std::int64_t padded_vocabulary(const Axis& axis, std::int64_t vocabulary) {
  return (vocabulary + axis.shards() - 1) / axis.shards() * axis.shards();
}

// Rows of a table [vocabulary, width] that is cut by its rows: tokens, the same on every rank, -> Partial. One all_reduce makes it whole.
template <Scalar T>
class VocabEmbedding {
 public:
  VocabEmbedding(const Axis& axis, std::int64_t vocabulary_size, std::int64_t width, const nn::Init& init = nn::Init::normal(0, 1))
      : weight(sharded_parameter<T>(axis, {padded_vocabulary(axis, vocabulary_size), width}, 0, init)),
        axis_(axis),
        vocabulary_(vocabulary_size) {}

  // Throws ArgumentError for a token outside of [0, vocabulary).
  template <AxisName Name = "ranks">
  Placed<T, Partial, Name> operator()(const Tensor<std::int64_t>& tokens) const {
    for (std::int64_t token : tokens.values())
      if (token < 0 || token >= vocabulary_)
        fail<ArgumentError>("vocab embedding: token ", token, " is out of range for ", vocabulary_, " symbols");
    std::vector<Tensor<compute_t<T>>> parts;
    for (std::size_t i = 0; i < weight.shards.size(); ++i) {
      const std::int64_t rows = weight.shards[i].shape()[0];
      parts.push_back(detail::owned_rows(weight.shards[i], tokens, rows * axis_.shard(static_cast<int>(i))).template to<compute_t<T>>());
    }
    return {axis_, std::move(parts)};
  }

  std::int64_t vocabulary() const { return vocabulary_; }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight);
  }

  ShardedParameter<T> weight;

 private:
  Axis axis_;
  std::int64_t vocabulary_;
};

namespace detail {

// What the loss of sharded logits needs beside them, whole on every rank: per row the log of the sum of exp, and the logits' mean with
// the weights that the loss gives them.
template <Scalar W>
struct VocabStatistics {
  Tensor<W> lse, expected;
};

// What the target's logit and every logit weigh in a row's loss.
struct Smoothing {
  double target, each;
};

// rows x columns logits of one shard that begins at symbol `first`; columns from `columns_used` on are padding.
template <Scalar A>
struct LogitShard {
  Tensor<A> logits;
  std::int64_t first, used;
};

template <Scalar A, AxisName Name>
std::vector<LogitShard<A>> logit_shards(const Placed<A, Sharded<last>, Name>& logits, std::int64_t vocabulary) {
  std::vector<LogitShard<A>> shards;
  for (std::size_t i = 0; i < logits.parts().size(); ++i) {
    const std::int64_t columns = logits.shape().back(), first = columns * logits.axis().shard(static_cast<int>(i));
    shards.push_back({logits.parts()[i], first, (std::clamp<std::int64_t>)(vocabulary - first, 0, columns)});
  }
  return shards;
}

// Three all-reduces: the maximum, the target's logit, the sum of exp.
template <Scalar A>
VocabStatistics<compute_t<A>> vocab_statistics(const std::vector<LogitShard<A>>& shards, const Tensor<std::int64_t>& targets,
                                               const Smoothing& smoothing, Communicator& comm) {
  using W = compute_t<A>;
  const std::int64_t rows = targets.numel();
  const auto per_row = [&](auto&& value) {  // the tree over this rank's shards of value(shard, row)
    std::vector<Tensor<W>> parts;
    for (const LogitShard<A>& shard : shards)
      parts.push_back(compute<W>("vocab", {rows}, [&](W* out) {
        for (std::int64_t r = 0; r < rows; ++r) out[r] = value(shard, shard.logits.data() + r * shard.logits.shape().back(), r);
      }));
    return parts;
  };
  const auto row_max = [](const LogitShard<A>& shard, const A* row, std::int64_t) {
    W largest = -std::numeric_limits<W>::infinity();
    kernels::reduce<kernels::Max>(1, shard.used, 1, row, &largest);
    return largest;
  };
  Tensor<W> largest = full<W>({rows}, -std::numeric_limits<W>::infinity());
  for (const Tensor<W>& part : per_row(row_max))
    kernels::map(
        rows, [](const auto& a, const auto& b) { return kernels::maximum(a, b); }, largest.mutable_data(), largest.data(), part.data());
  thread_state.collectives += 3;
  comm.all_reduce(largest.mutable_values(), Reduction::max);

  Tensor<W> expected = tree_sum(per_row([&](const LogitShard<A>& shard, const A* row, std::int64_t r) {
    const std::int64_t column = targets.data()[r] - shard.first;
    W sum = 0;
    if (smoothing.each != 0) kernels::reduce<kernels::Sum>(1, shard.used, 1, row, &sum);
    sum *= static_cast<W>(smoothing.each);
    return column >= 0 && column < shard.used ? sum + static_cast<W>(smoothing.target) * static_cast<W>(row[column]) : sum;
  }));
  comm.all_reduce(expected.mutable_values());

  Workspace<W> powers(shards.front().logits.shape().back());
  Tensor<W> lse = tree_sum(per_row([&](const LogitShard<A>& shard, const A* row, std::int64_t r) {
    W sum = 0;
    kernels::map(
        shard.used, [m = largest.data()[r]](const auto& x) { return kernels::exp(x - m); }, powers.data(), row);
    kernels::reduce<kernels::Sum>(1, shard.used, 1, static_cast<const W*>(powers.data()), &sum);
    return sum;
  }));
  comm.all_reduce(lse.mutable_values());
  kernels::map(
      rows, [](const auto& s, const auto& m) { return m + kernels::log(s); }, lse.mutable_data(), lse.data(), largest.data());
  return {lse, expected};
}

// d loss / d logits of one shard: (softmax - weights) scale, zero in ignored rows and in padding.
template <Scalar A>
Tensor<A> vocab_gradient(const LogitShard<A>& shard, const Tensor<std::int64_t>& targets, const Tensor<compute_t<A>>& lse,
                         compute_t<A> scale, std::int64_t ignored, const Smoothing& smoothing) {
  using W = compute_t<A>;
  const std::int64_t columns = shard.logits.shape().back();
  return compute<A>("vocab_cross_entropy", shard.logits.shape(), [&](A* out) {
    Workspace<W> wide(columns);
    for (std::int64_t r = 0; r < targets.numel(); ++r, out += columns) {
      const std::int64_t target = targets.data()[r];
      if (target == ignored) {
        std::fill_n(out, columns, A(0));
        continue;
      }
      kernels::map(
          shard.used, [l = lse.data()[r], each = static_cast<W>(smoothing.each)](const auto& x) { return kernels::exp(x - l) - each; },
          wide.data(), shard.logits.data() + r * columns);
      if (target >= shard.first && target < shard.first + shard.used) wide[target - shard.first] -= static_cast<W>(smoothing.target);
      kernels::map(
          shard.used, [scale](const auto& x) { return x * scale; }, out, static_cast<const W*>(wide.data()));
      std::fill_n(out + shard.used, columns - shard.used, A(0));
    }
  });
}

}  // namespace detail

struct VocabLossOptions {
  double label_smoothing = 0;        // the share of each target that is spread over all symbols
  std::int64_t ignore_index = -100;  // rows with this target do not count
};

// The mean cross entropy of logits [rows, symbols / shard] over rows that count; targets are the same on every rank. Three all-reduces.
// value     mean of lse(row) - row[target], with smoothing e of lse(row) - (1 - e) row[target] - e mean(row); NaN when no row counts
// gradient  (softmax - one_hot) dy / count on each shard; first derivatives alone
// saves     the logits and one number a row
// Throws ArgumentError for a target outside of the vocabulary.
template <Scalar A, AxisName Name>
Placed<compute_t<A>, Invariant, Name> vocab_cross_entropy(const Placed<A, Sharded<last>, Name>& logits, const Tensor<std::int64_t>& targets,
                                                          std::int64_t vocabulary, const VocabLossOptions& options = {}) {
  using W = compute_t<A>;
  if (logits.shape().numel() != targets.numel() * logits.shape().back())
    fail<ShapeError>("vocab_cross_entropy: one target a row is needed, got logits ", logits.shape(), " and targets ", targets.shape());
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    fail<ArgumentError>("vocab_cross_entropy: label_smoothing must be in [0, 1], got ", options.label_smoothing);
  const detail::Smoothing smoothing{1 - options.label_smoothing, options.label_smoothing / static_cast<double>(vocabulary)};
  const std::int64_t ignored = options.ignore_index;
  std::int64_t count = 0;
  for (std::int64_t target : targets.values()) {
    if (target == ignored) continue;
    if (target < 0 || target >= vocabulary)
      fail<ArgumentError>("vocab_cross_entropy: target ", target, " is out of range for ", vocabulary, " symbols");
    ++count;
  }
  const auto shards = no_grad([&] { return detail::logit_shards(logits, vocabulary); });
  Tensor<W> expected = Tensor<W>::empty({targets.numel()});
  const auto communicate = [&](W* lse) {  // one operation: a policy that saves collectives keeps both results
    const NoGrad guard;
    const auto statistics = detail::vocab_statistics(shards, targets, smoothing, logits.comm());
    std::ranges::copy(statistics.lse.values(), lse);
    std::ranges::copy(statistics.expected.values(), expected.mutable_data());
  };
  const Tensor<W> lse = compute<W>("vocab_statistics", {targets.numel()}, filling(communicate, expected));
  double sum = 0;
  for (std::int64_t r = 0; r < targets.numel(); ++r)
    if (targets.data()[r] != ignored) sum += static_cast<double>(lse.data()[r]) - static_cast<double>(expected.data()[r]);
  Tensor<W> loss = scalar<W>(static_cast<W>(sum / static_cast<double>(count)));
  const W share = count == 0 ? W(0) : W(1) / static_cast<W>(count);
  for (const auto& shard : shards) {  // each shard has its place in the graph of the one loss
    loss = record_view(
        "vocab_cross_entropy", loss.detach(), wrt(loss, [](const Tensor<W>& dy) { return dy; }),
        wrt(
            shard.logits,
            [](const Tensor<W>& dy, const Tensor<A>& x, std::int64_t first, std::int64_t used, const Tensor<std::int64_t>& t,
               const Tensor<W>& row_lse, W scale, std::int64_t skip, const detail::Smoothing& weights) {
              if (grad_enabled()) fail<GraphError>("vocab_cross_entropy: second derivatives are not supported");
              return detail::vocab_gradient(detail::LogitShard<A>{x, first, used}, t, row_lse, dy.item() * scale, skip, weights);
            },
            shard.logits, shard.first, shard.used, targets, lse, share, ignored, smoothing));
  }
  return {logits.axis(), {loss}};
}

// Of anything else: refused, with the reason.
template <Scalar A, class P, AxisName Name>
requires(!std::same_as<P, Sharded<last>>) void vocab_cross_entropy(const Placed<A, P, Name>&, const Tensor<std::int64_t>&, std::int64_t,
                                                                   const VocabLossOptions& = {}) {
  static_assert(std::same_as<P, Sharded<last>>,
                "vocab_cross_entropy takes logits that are Sharded<last>: of whole ones it would count every symbol once a rank; use "
                "cross_entropy on them");
}

}  // namespace minitorch::parallel
