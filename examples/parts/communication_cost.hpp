// What tensor parallelism costs in communication.
// SPDX-License-Identifier: MIT
#pragma once

#include <examples/support/program.hpp>

namespace examples {

extern const support::Part communication_cost_part;

struct CostOptions {
  double hidden = 12288, tokens = 2048, ranks = 8;
  double value_bytes = 2;
  double peak = 156e12;                         // FLOP/s of one device
  double inside = 300e9, between = 100e9 / 16;  // bytes/s of one device
  bool is_default() const {
    return hidden == 12288 && tokens == 2048 && ranks == 8 && value_bytes == 2 && peak == 156e12 && inside == 300e9 &&
           between == 100e9 / 16;
  }

  void flags(support::Program& program);
};

void communication_cost(support::Report& report, const CostOptions& options);

}  // namespace examples
