// Attention with its heads split over ranks.
// SPDX-License-Identifier: MIT
#pragma once

#include <examples/support/program.hpp>

namespace examples {

extern const support::Part tensor_parallel_attention_part;

void tensor_parallel_attention(support::Report& report);

}  // namespace examples
