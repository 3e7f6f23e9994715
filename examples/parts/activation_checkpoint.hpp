// Activation checkpointing of residual blocks.
// SPDX-License-Identifier: MIT
#pragma once

#include <examples/support/program.hpp>

namespace examples {

extern const support::Part activation_checkpoint_part;

struct CheckpointExample {
  int batch = 16, large_batch = 1024;
  int blocks = 4, width = 64, inner = 256;
  int runs = 3;

  void flags(support::Program& program);
};

void activation_checkpoint(support::Report& report, const CheckpointExample& example);

}  // namespace examples
