// Shows what tensor parallelism costs: bytes, operations and times of one layer, for any width, ranks and bandwidths.
// SPDX-License-Identifier: MIT

// Run: scripts/demo communication_cost [--hidden 12288] [--ranks 8] [--between 6.25e9] [--json]
// Prints the share of communication in a layer inside a machine and between machines; and of this machine, predicted and measured.

#include <examples/parts/communication_cost.hpp>
#include <examples/parts/communication_here.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  examples::CostOptions options;
  support::Program program("communication_cost", "Communication of a tensor parallel layer beside its computation.",
                           {&examples::communication_cost_part, &examples::communication_here_part});
  options.flags(program);
  return program.run(argc, argv, [&](support::Report& report) {
    examples::communication_cost(report, options);
    examples::communication_here(report);
  });
}
