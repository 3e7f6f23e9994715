// Shows that forked processes with unequal shares of a batch take exactly the step of the whole batch, and how averages go wrong.
// SPDX-License-Identifier: MIT

// Run: scripts/demo data_parallel [--ranks 2] [--samples 5] [--lr 0.01] [--json]
// Prints weight and bias after one step by three routes beside those of one process, and what happens when a rank fails.

#include <examples/parts/data_parallel.hpp>
#include <examples/parts/rank_failures.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  examples::DataParallelExample example;
  support::Program program("data_parallel",
                           "Processes that share a batch: the step of the whole batch, and what happens when a rank fails.",
                           {&examples::data_parallel_part, &examples::rank_failures_part});
  example.flags(program);
  return program.run(argc, argv, [&](support::Report& report) {
    examples::data_parallel(report, example);
    examples::rank_failures(report);
  });
}
