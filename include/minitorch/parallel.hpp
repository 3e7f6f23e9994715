// Everything that needs processes: ranks, their collectives, and parallel training on top.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/launch.hpp>
#include <minitorch/minitorch.hpp>
