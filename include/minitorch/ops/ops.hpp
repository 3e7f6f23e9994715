// All operations.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/ops/attention.hpp>
#include <minitorch/ops/composite_grad.hpp>
#include <minitorch/ops/concatenate.hpp>
#include <minitorch/ops/cross_entropy.hpp>
#include <minitorch/ops/dims.hpp>
#include <minitorch/ops/div.hpp>
#include <minitorch/ops/dropout.hpp>
#include <minitorch/ops/embedding.hpp>
#include <minitorch/ops/exp.hpp>
#include <minitorch/ops/gelu.hpp>
#include <minitorch/ops/grad_mul.hpp>
#include <minitorch/ops/layer_norm.hpp>
#include <minitorch/ops/linear.hpp>
#include <minitorch/ops/loss.hpp>
#include <minitorch/ops/masked.hpp>
#include <minitorch/ops/mean.hpp>
#include <minitorch/ops/mse_loss.hpp>
#include <minitorch/ops/mul.hpp>
#include <minitorch/ops/neg.hpp>
#include <minitorch/ops/normal.hpp>
#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/permute.hpp>
#include <minitorch/ops/pointwise.hpp>
#include <minitorch/ops/reduction.hpp>
#include <minitorch/ops/relu.hpp>
#include <minitorch/ops/rsqrt.hpp>
#include <minitorch/ops/sigmoid.hpp>
#include <minitorch/ops/silu.hpp>
#include <minitorch/ops/softmax.hpp>
#include <minitorch/ops/split.hpp>
#include <minitorch/ops/square.hpp>
#include <minitorch/ops/sub.hpp>
#include <minitorch/ops/sum.hpp>
#include <minitorch/ops/tanh.hpp>
