// The whole reference program: synchronised gradients, recompute, splits of a product, precision, nine questions.
// SPDX-License-Identifier: MIT

// Run: scripts/demo [--json]
// Prints every number beside the one it must be; the parts are examples of their own, with flags.

#include <examples/parts/activation_checkpoint.hpp>
#include <examples/parts/data_parallel.hpp>
#include <examples/parts/mixed_precision.hpp>
#include <examples/parts/nine_questions.hpp>
#include <examples/parts/rank_failures.hpp>
#include <examples/parts/split_products.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  using namespace examples;
  DataParallelExample data;
  CheckpointExample blocks;
  SplitOptions split;
  Questions questions;
  support::Program program("demo", "Two processes, recompute, splits, precision and nine questions: every number beside its reference.",
                           {&data_parallel_part, &rank_failures_part, &activation_checkpoint_part, &split_products_part,
                            &mixed_precision_part, &questions_reckoned_part, &questions_measured_part});
  data.flags(program);
  blocks.flags(program);
  split.flags(program);
  questions.flags(program);
  return program.run(argc, argv, [&](support::Report& report) {
    data_parallel(report, data);
    rank_failures(report);
    activation_checkpoint(report, blocks);
    split_products(report, split);
    mixed_precision(report);
    questions_reckoned(report, questions);
    questions_measured(report);
  });
}
