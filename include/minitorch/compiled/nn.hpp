// How parameters start, layers and GPT, compiled once.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/nn/nn.hpp>

namespace minitorch::nn {

extern template Tensor<double> parameter(const Window&, const Init&);
extern template Tensor<float> parameter(const Window&, const Init&);
extern template Tensor<half> parameter(const Window&, const Init&);
extern template Tensor<bfloat16> parameter(const Window&, const Init&);

extern template class Linear<double>;
extern template class Linear<float>;
extern template class LayerNorm<double>;
extern template class LayerNorm<float>;
extern template class Embedding<double>;
extern template class Embedding<float>;
extern template class MultiHeadAttention<double>;
extern template class MultiHeadAttention<float>;

extern template class GPT<double, double>;
extern template class GPT<float, float>;
extern template class GPT<float, bfloat16>;

}  // namespace minitorch::nn
