// Embedding: a table of rows, looked up by index.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <minitorch/nn/init.hpp>
#include <minitorch/nn/module.hpp>
#include <minitorch/ops/embedding.hpp>

namespace minitorch::nn {

struct EmbeddingOptions {
  std::optional<Init> init = {};    // standard normal, PyTorch's choice, unless it is given
  std::int64_t padding_index = -1;  // a row that starts at zero and gets no gradient
};

template <Scalar T>
class Embedding : detail::MoveOnly {
 public:
  Tensor<T> weight;  // [count, dim]
  std::int64_t padding_index = -1;

  Embedding(std::int64_t count, std::int64_t dim, const EmbeddingOptions& options = {})
      : weight(parameter<T>({count, dim}, options.init.value_or(Init::normal(0, 1)))), padding_index(options.padding_index) {
    if (padding_index >= count) fail<ArgumentError>("Embedding: padding index ", padding_index, " is out of range for ", count, " rows");
    if (padding_index >= 0) no_grad([&] { std::fill_n(weight.mutable_data() + padding_index * dim, dim, T(0)); });
  }
  explicit Embedding(Tensor<T> table, std::int64_t padding = -1) : weight(std::move(table)), padding_index(padding) {}

  Embedding clone() const { return Embedding(detail::Cloner::copy(weight), padding_index); }

  // Row index[i] for each i: the shape of index, then dim. Throws ArgumentError for an index out of range.
  Tensor<T> operator()(const Tensor<std::int64_t>& index) const { return embedding(index, weight, padding_index); }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight);
  }
};

}  // namespace minitorch::nn
