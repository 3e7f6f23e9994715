// Residual blocks, and one forward and backward pass through them with or without checkpoints, counted and measured.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include <examples/parts/residual_pass.hpp>
#include <examples/support/measure.hpp>
#include <minitorch/parallel.hpp>

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

Pass run_pass(const CheckpointExample& example, std::int64_t batch, bool checkpointed, bool metered) {
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

Cost measure_pass(const CheckpointExample& example, bool checkpointed) {
  const std::int64_t resident = support::peak_resident_bytes();
  mt::reset_peak_bytes();
  const auto pass = [&] { run_pass(example, example.large_batch, checkpointed, false); };
  pass();  // the first one fetches memory from the system
  const std::int64_t tensors = mt::peak_bytes(), grown = support::peak_resident_bytes() - resident;
  return {support::median_seconds(example.runs, pass), tensors, grown};
}

Cost measure_alone(const CheckpointExample& example, bool checkpointed) {
  return mt::launch({.threads = 1}, 1, [&](mt::Communicator&) { return measure_pass(example, checkpointed); }).front();
}

DepthCost measure_depth(const CheckpointExample& example, int depth, Kept kept) {
  const auto measured = mt::launch({.threads = 1}, 1, [&](mt::Communicator&) {
    mt::manual_seed(1);
    ResidualNet net(depth, example.width, example.inner);
    const auto x = mt::nn::parameter<double>({example.large_batch, example.width}, mt::nn::Init::normal(0, 1));
    const auto pass = [&] {
      mt::Tensor<double> output = x;
      if (kept == Kept::segment_inputs)
        output = mt::checkpoint_sequential(net.blocks, 0, x);
      else
        for (const ResidualBlock& block : net.blocks) output = kept == Kept::block_inputs ? mt::checkpoint(block, output) : block(output);
      mt::mean(mt::square(output)).backward();
    };
    pass();  // the gradients have their memory from here on
    const std::int64_t before = mt::live_bytes();
    mt::reset_peak_bytes();
    double fastest = support::median_seconds(1, pass);
    for (int run = 1; run < example.runs; ++run) fastest = (std::min)(fastest, support::median_seconds(1, pass));
    return DepthCost{fastest, mt::peak_bytes() - before};
  });
  return measured.front();
}

}  // namespace examples
