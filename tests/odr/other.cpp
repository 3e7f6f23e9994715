// The second file of the program.
// SPDX-License-Identifier: MIT
#include <tests/odr/program.hpp>

std::vector<float> compute_there() { return compute(); }
