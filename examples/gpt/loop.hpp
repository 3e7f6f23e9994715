// The training loop of one rank.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include <examples/gpt/trainer.hpp>

namespace examples {

// What a rank's training came to.
struct Outcome {
  std::int64_t step;  // done in all
  std::int64_t skipped, saved_bytes, peak_bytes, resident_bytes, operations_again;
  double first_loss, last_loss, tokens_per_second, step_seconds;
  int signal;   // that ended it, or 0
  bool paused;  // it is to be continued
};

// Lines for people and grep: on stdout, or on stderr when stdout is to be one JSON object.
void tell(const std::string& line, bool json);

// Trains from setup.from until the steps or the time of the options, --pause or a signal; called by all ranks. Rank 0 prints, and writes
// metrics.csv and a checkpoint at every validation and at the end.
Outcome train_rank(const TrainSetup& setup, mt::Communicator& world, const mt::train::StopSignals& signals, bool json);

}  // namespace examples
