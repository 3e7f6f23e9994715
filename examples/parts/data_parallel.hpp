// One step of data parallel training.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include <examples/support/program.hpp>

namespace minitorch {
class Communicator;
}

namespace examples {

extern const support::Part data_parallel_part;

struct DataParallelExample {
  int ranks = 2, samples = 5;
  double lr = 0.01;

  void flags(support::Program& program);
  bool is_default() const { return ranks == 2 && samples == 5 && lr == 0.01; }
  // The samples of a rank are [first(r), first(r + 1)).
  std::int64_t first(int rank) const { return std::int64_t{samples} * rank / ranks; }
};

// How the gradients of ranks become one. With S_r the gradient of the sum of a rank's losses, N the samples of all and W the ranks:
enum class Route {
  sum_of_sums,        // the sum of S_r / N
  average_of_scaled,  // the average of S_r W / N
  average_of_means,   // the average of S_r / N_r: wrong unless all ranks have as many samples
  sum_of_scaled,      // the sum of S_r W / N: wrong, W times too much
};

// Weight and bias of a rank that has a part of the samples, after the step.
std::vector<double> rank_step(const DataParallelExample& example, minitorch::Communicator& comm, Route route);

void data_parallel(support::Report& report, const DataParallelExample& example);

}  // namespace examples
