// A whole GPT over ranks, with its communication counted.
// SPDX-License-Identifier: MIT
#pragma once

#include <examples/support/program.hpp>

namespace examples {

extern const support::Part tensor_parallel_gpt_part;

struct GPTOptions {
  int steps = 60;

  void flags(support::Program& program);
};

void tensor_parallel_gpt(support::Report& report, const GPTOptions& options);

}  // namespace examples
