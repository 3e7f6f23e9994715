// Answers nine questions about training at scale, each computed or measured; docs/nine_questions.md explains them.
// SPDX-License-Identifier: MIT

// Run: scripts/demo nine_questions [--peak 100] [--bandwidth 2] [--intensity 5] [--parameters 1e9] ... [--json]
// Prints the answers, with those of the usual inputs beside their references, and what the usual mistakes give.

#include <examples/parts/nine_questions.hpp>
#include <examples/support/program.hpp>

int main(int argc, char** argv) {
  examples::Questions questions;
  support::Program program("nine_questions", "Nine questions about training at scale, answered with numbers.",
                           {&examples::questions_reckoned_part, &examples::questions_measured_part});
  questions.flags(program);
  return program.run(argc, argv, [&](support::Report& report) {
    examples::questions_reckoned(report, questions);
    examples::questions_measured(report);
  });
}
