// Activation checkpointing of residual blocks.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

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

extern const support::Part depth_part;

// Ends the program, with the status of wrong usage, unless a file can be where the flag --plot says.
void check_plot(const std::filesystem::path& file);
// Measures chains of 4 to 64 blocks and draws memory and time against depth into an SVG file.
void depth_plot(support::Report& report, const CheckpointExample& example, const std::filesystem::path& file);

}  // namespace examples
