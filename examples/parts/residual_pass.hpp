// Forward and backward passes through residual blocks, with or without checkpoints: what they keep, give and cost.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include <examples/parts/activation_checkpoint.hpp>
#include <minitorch/minitorch.hpp>

namespace examples {

namespace mt = minitorch;

// One forward and backward pass, loss = mean(output^2).
struct Pass {
  std::vector<mt::Tensor<double>> output, input_gradient, parameter_gradients;
  std::int64_t saved_bytes = 0;         // of distinct buffers that are not parameters
  std::int64_t region_input_bytes = 0;  // of these, the inputs of checkpointed regions
  std::int64_t entered = 0;
  std::uint64_t operations = 0, operations_again = 0;
  double flops = 0, flops_again = 0;  // of matrix products
};

Pass run_pass(const CheckpointExample& example, std::int64_t batch, bool checkpointed, bool metered);

// What a pass costs.
struct Cost {
  double seconds;
  std::int64_t tensor_bytes;    // most bytes of tensors alive at once
  std::int64_t resident_bytes;  // growth of the most resident memory of the process
};

// Of large batches, measured in a process of its own, or the second would find the memory of the first.
Cost measure_alone(const CheckpointExample& example, bool checkpointed);

// What a chain of blocks keeps for its backward pass.
enum class Kept { everything, block_inputs, segment_inputs };

struct DepthCost {
  double seconds;      // of the fastest pass
  std::int64_t bytes;  // of tensors at most, beyond parameters and their gradients
};

// A pass through `depth` blocks with a large batch, in a process of its own.
DepthCost measure_depth(const CheckpointExample& example, int depth, Kept kept);

}  // namespace examples
