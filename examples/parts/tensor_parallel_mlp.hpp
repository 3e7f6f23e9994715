// An MLP split over ranks, right and wrong.
// SPDX-License-Identifier: MIT
#pragma once

#include <examples/support/program.hpp>

namespace examples {

extern const support::Part tensor_parallel_mlp_part;

void tensor_parallel_mlp(support::Report& report);

}  // namespace examples
