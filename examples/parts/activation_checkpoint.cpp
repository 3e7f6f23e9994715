// Activation checkpointing of residual blocks: what is kept, what is run again, and that nothing else changes.
// SPDX-License-Identifier: MIT
#include <cstring>

#include <examples/parts/residual_pass.hpp>

namespace examples {

namespace mt = minitorch;

const support::Part activation_checkpoint_part{"activation_checkpoint",
                                               "Recompute: residual blocks with and without checkpoints",
                                               {{"plain_bytes", "plain: bytes saved by the forward pass"},
                                                {"checkpoint_bytes", "checkpointed: bytes saved"},
                                                {"region_input_bytes", "of these, inputs of the blocks"},
                                                {"pytorch_bytes", "without them (what PyTorch 1.13.1 counts)"},
                                                {"plain_entries", "plain: forwards of a block entered"},
                                                {"checkpoint_entries", "checkpointed: forwards entered"},
                                                {"output_equal", "outputs bitwise equal"},
                                                {"input_gradient_equal", "gradients of the input bitwise equal"},
                                                {"parameter_gradients_equal", "gradients of all parameters bitwise equal"},
                                                {"operations", "operations run, plain"},
                                                {"operations_again", "operations run again for backward"},
                                                {"flops", "floating-point operations of products, plain"},
                                                {"flops_again", "of products run again"},
                                                {"plain_seconds", "large batch, plain: seconds a pass"},
                                                {"checkpoint_seconds", "large batch, checkpointed: seconds a pass"},
                                                {"plain_tensor_bytes", "large batch, plain: bytes of tensors at most"},
                                                {"checkpoint_tensor_bytes", "large batch, checkpointed: bytes of tensors at most"},
                                                {"plain_resident_bytes", "large batch, plain: growth of resident memory"},
                                                {"checkpoint_resident_bytes", "large batch, checkpointed: growth of resident memory"}}};

void CheckpointExample::flags(support::Program& program) {
  program.flag("--batch", batch, "Rows of the batch whose saved bytes are counted", 1, 4096);
  program.flag("--large-batch", large_batch, "Rows of the batch whose time and memory are measured", 1, 65536);
  program.flag("--blocks", blocks, "Residual blocks", 1, 64);
  program.flag("--width", width, "Width of the residual stream", 1, 1024);
  program.flag("--inner", inner, "Width inside a block", 1, 4096);
  program.flag("--runs", runs, "Passes, of which the median time is shown", 1, 100);
}

bool bitwise_equal(const std::vector<mt::Tensor<double>>& a, const std::vector<mt::Tensor<double>>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(a[i].shape() == b[i].shape()) || std::memcmp(a[i].data(), b[i].data(), a[i].values().size_bytes()) != 0) return false;
  return true;
}
void activation_checkpoint(support::Report& report, const CheckpointExample& example) {
  const Cost plain_cost = measure_alone(example, false), checkpoint_cost = measure_alone(example, true);
  const Pass plain = run_pass(example, example.batch, false, true), checkpointed = run_pass(example, example.batch, true, true);
  const std::int64_t row = 8 * std::int64_t{example.batch}, block_inputs = row * example.width * example.blocks;

  report.begin(activation_checkpoint_part);
  report.check("plain_bytes", plain.saved_bytes, row * (example.blocks * (example.width + 2 * example.inner) + example.width));
  report.check("checkpoint_bytes", checkpointed.saved_bytes, block_inputs + row * example.width);
  report.check("region_input_bytes", checkpointed.region_input_bytes, block_inputs);
  report.check("pytorch_bytes", checkpointed.saved_bytes - checkpointed.region_input_bytes, row * example.width);
  report.check("plain_entries", plain.entered, std::int64_t{example.blocks});
  report.check("checkpoint_entries", checkpointed.entered, std::int64_t{2 * example.blocks});
  report.check("output_equal", bitwise_equal(plain.output, checkpointed.output));
  report.check("input_gradient_equal", bitwise_equal(plain.input_gradient, checkpointed.input_gradient));
  report.check("parameter_gradients_equal", bitwise_equal(plain.parameter_gradients, checkpointed.parameter_gradients));
  report.show("operations", static_cast<std::int64_t>(plain.operations));
  report.show("operations_again", static_cast<std::int64_t>(checkpointed.operations_again));
  report.show("flops", static_cast<std::int64_t>(plain.flops));
  report.show("flops_again", static_cast<std::int64_t>(checkpointed.flops_again));
  report.show("plain_seconds", plain_cost.seconds);
  report.show("checkpoint_seconds", checkpoint_cost.seconds);
  report.show("plain_tensor_bytes", plain_cost.tensor_bytes);
  report.show("checkpoint_tensor_bytes", checkpoint_cost.tensor_bytes);
  report.show("plain_resident_bytes", plain_cost.resident_bytes);
  report.show("checkpoint_resident_bytes", checkpoint_cost.resident_bytes);
  report.say(
      "A plain block keeps its input, the pre-activation and the activation; a checkpointed one its input alone. Both keep the "
      "output of the last block, for the square of the loss. PyTorch 1.13.1 reports that output alone (8,192 bytes here), because its "
      "checkpoint hides the inputs of the blocks from the hooks that count; they are held all the same, so they are counted here.");
}

}  // namespace examples
