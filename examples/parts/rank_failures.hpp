// What is learnt of a rank that fails.
// SPDX-License-Identifier: MIT
#pragma once

#include <examples/support/report.hpp>

namespace examples {

extern const support::Part rank_failures_part;

void rank_failures(support::Report& report);

}  // namespace examples
