// Nine questions about training at scale.
// SPDX-License-Identifier: MIT
#pragma once

#include <examples/support/program.hpp>

namespace examples {

extern const support::Part questions_reckoned_part, questions_measured_part;

struct Questions {
  double peak = 100, bandwidth = 2, intensity = 5;
  double parameters = 1e9;
  int micro_batch = 4, accumulation = 3, data_ranks = 2;
  double mean_a = 10, mean_b = 20;
  int samples_a = 2, samples_b = 3;

  void flags(support::Program& program);
};

void questions_reckoned(support::Report& report, const Questions& questions);
void questions_measured(support::Report& report);

}  // namespace examples
