// Catch2, version 2 (Debian 12, Ubuntu 22.04) or 3, under the names of version 2.
// SPDX-License-Identifier: MIT
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>

using Catch::Approx;
namespace Catch {
using Matchers::Contains;
}
#else
#include <catch2/catch.hpp>
#endif
