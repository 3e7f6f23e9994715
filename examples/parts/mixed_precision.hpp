// What 16 bits keep of a number, and a layer that computes in bfloat16.
// SPDX-License-Identifier: MIT
#pragma once

#include <examples/support/report.hpp>

namespace examples {

extern const support::Part mixed_precision_part;

void mixed_precision(support::Report& report);

extern const support::Part precision_choices_part;
void precision_choices(support::Report& report);

}  // namespace examples
