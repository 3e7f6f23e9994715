// The backward pass of a split MLP.
// SPDX-License-Identifier: MIT
#pragma once

#include <examples/support/program.hpp>

namespace examples {

extern const support::Part tensor_parallel_backward_part;

void tensor_parallel_backward(support::Report& report);

}  // namespace examples
