// A whole run of train_gpt: what it starts from, its ranks, and what it reports.
// SPDX-License-Identifier: MIT
#pragma once

#include <examples/gpt/options.hpp>
#include <examples/support/report.hpp>

namespace examples {

extern const support::Part train_part;

// What the command line said beside the options.
struct RunWishes {
  bool json = false;        // standard output belongs to one JSON object
  bool keep_steps = false;  // --steps counts, also for a run that is resumed
  bool keep = true;         // what the run has saved; else its directory is removed at the end
};

// Throws Exit with status 2 for what does not fit together, 128 + the signal after one, and Error.
void train_gpt(support::Report& report, TrainOptions options, const RunWishes& wishes);

}  // namespace examples
