// What tensor parallelism costs on this machine: reckoned from two measured speeds, and measured.
// SPDX-License-Identifier: MIT
#pragma once

#include <examples/support/program.hpp>

namespace examples {

extern const support::Part communication_here_part;

void communication_here(support::Report& report);

}  // namespace examples
