// Residual blocks, and one forward and backward pass through them with or without checkpoints, counted.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <minitorch/minitorch.hpp>
#include <optional>
#include <vector>

namespace examples {

namespace mt = minitorch;

// x + W2 gelu(W1 x + b1) + b2, counting how often it is entered.
struct ResidualBlock {
  mt::nn::Linear<double> up, down;
  std::int64_t* entered;

  mt::Tensor<double> operator()(const mt::Tensor<double>& x) const {
    ++*entered;
    return x + down(mt::gelu(up(x)));
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("up", up);
    v("down", down);
  }
};

struct ResidualNet {
  std::vector<ResidualBlock> blocks;
  std::int64_t entered = 0;

  ResidualNet(int count, std::int64_t width, std::int64_t inner) {
    for (int i = 0; i < count; ++i) blocks.push_back({{width, inner}, {inner, width}, &entered});
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("blocks", blocks);
  }
};

struct CheckpointExample {
  int batch = 16, large_batch = 1024;
  int blocks = 4, width = 64, inner = 256;
  int runs = 3;

  template <class Program>
  void flags(Program& program) {
    program.flag("--batch", batch, "Rows of the batch whose saved bytes are counted", 1, 4096);
    program.flag("--large-batch", large_batch, "Rows of the batch whose time and memory are measured", 1, 65536);
    program.flag("--blocks", blocks, "Residual blocks", 1, 64);
    program.flag("--width", width, "Width of the residual stream", 1, 1024);
    program.flag("--inner", inner, "Width inside a block", 1, 4096);
    program.flag("--runs", runs, "Passes, of which the median time is shown", 1, 100);
  }
};

// One forward and backward pass, loss = mean(output^2).
struct Pass {
  std::vector<mt::Tensor<double>> output, input_gradient, parameter_gradients;
  std::int64_t saved_bytes = 0;         // of distinct buffers that are not parameters
  std::int64_t region_input_bytes = 0;  // of these, the inputs of checkpointed regions
  std::int64_t entered = 0;
  std::uint64_t operations = 0, operations_again = 0;
  double flops = 0, flops_again = 0;  // of matrix products
};

inline Pass run_pass(const CheckpointExample& example, std::int64_t batch, bool checkpointed, bool metered) {
  mt::manual_seed(1);
  ResidualNet net(example.blocks, example.width, example.inner);
  const auto x = mt::nn::parameter<double>({batch, example.width}, mt::nn::Init::normal(0, 1));
  const auto parameters = mt::nn::parameters<double>(net);
  const mt::AutogradState before = mt::autograd_state;
  Pass pass;
  mt::Tensor<double> output = x, loss;
  {
    std::optional<mt::SavedMeter> meter;
    if (metered) meter.emplace();
    for (const ResidualBlock& block : net.blocks) output = checkpointed ? mt::checkpoint(block, output) : block(output);
    loss = mt::mean(mt::square(output));
    if (metered) {
      const std::vector<mt::AnyTensor> excluded(parameters.begin(), parameters.end());
      pass.saved_bytes = meter->bytes(excluded);
      for (const auto& entry : meter->entries())
        if (entry.operation == "checkpoint") pass.region_input_bytes += entry.bytes;
    }
  }
  loss.backward();
  pass.output = {output.detach()};
  pass.input_gradient = {x.grad()};
  for (const auto& parameter : parameters) pass.parameter_gradients.push_back(parameter.grad());
  pass.entered = net.entered;
  pass.operations = mt::autograd_state.operations - before.operations;
  pass.operations_again = mt::autograd_state.recomputed - before.recomputed;
  pass.flops = mt::autograd_state.product_flops - before.product_flops;
  pass.flops_again = mt::autograd_state.recomputed_flops - before.recomputed_flops;
  return pass;
}

}  // namespace examples
