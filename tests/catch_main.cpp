// Catch2's main() when there is no library with it: for another processor than this machine's.
// SPDX-License-Identifier: MIT
#define CATCH_CONFIG_MAIN
#include <tests/catch.hpp>
