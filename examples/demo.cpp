// Both reference programs, every number beside the one it must be, and then a GPT that trains for 20 seconds on two processes.
// SPDX-License-Identifier: MIT

// Run: scripts/demo [--gpt-seconds 20] [--json]
// Prints synchronised gradients, recompute, splits of a product, precision and nine questions (A), the parallel layers (B), and what the
// GPT has learnt; the parts are examples of their own, with flags.
// In tests: --gpt-seconds 2

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#include <examples/gpt/run.hpp>
#include <examples/parts/activation_checkpoint.hpp>
#include <examples/parts/communication_cost.hpp>
#include <examples/parts/communication_here.hpp>
#include <examples/parts/data_parallel.hpp>
#include <examples/parts/mixed_precision.hpp>
#include <examples/parts/nine_questions.hpp>
#include <examples/parts/rank_failures.hpp>
#include <examples/parts/split_products.hpp>
#include <examples/parts/tensor_parallel_attention.hpp>
#include <examples/parts/tensor_parallel_backward.hpp>
#include <examples/parts/tensor_parallel_gpt.hpp>
#include <examples/parts/tensor_parallel_mlp.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  using namespace examples;
  DataParallelExample data;
  CheckpointExample blocks;
  SplitOptions split;
  Questions questions;
  TrainOptions gpt;
  gpt.seconds = 20;
  support::Program program(
      "demo", "Both reference programs, every number beside its reference, and a GPT trained on two processes.",
      {&data_parallel_part, &rank_failures_part, &activation_checkpoint_part, &split_products_part, &mixed_precision_part,
       &questions_reckoned_part, &questions_measured_part, &tensor_parallel_mlp_part, &tensor_parallel_attention_part,
       &tensor_parallel_gpt_part, &tensor_parallel_backward_part, &communication_cost_part, &communication_here_part, &train_part});
  data.flags(program);
  blocks.flags(program);
  split.flags(program);
  questions.flags(program);
  program.flag("--gpt-seconds", gpt.seconds, "How long the GPT trains", 0.1, 3600.0);
  return program.run(argc, argv, [&](support::Report& report) {
    data_parallel(report, data);
    rank_failures(report);
    activation_checkpoint(report, blocks);
    split_products(report, split);
    mixed_precision(report);
    questions_reckoned(report, questions);
    questions_measured(report);

    tensor_parallel_mlp(report);
    tensor_parallel_attention(report);
    tensor_parallel_gpt(report, {});
    tensor_parallel_backward(report);
    communication_cost(report, {});
    communication_here(report);
    report.end();

    gpt.out = (std::filesystem::temp_directory_path() / fmt::format("minitorch-demo-{}", ::getpid())).string();
    gpt.ranks = 2;
    gpt.context = 64;
    gpt.steps = 800;
    gpt.eval_every = 100;
    gpt.sample = 300;
    train_gpt(report, gpt, {.json = program.json(), .keep = false});
  });
}
