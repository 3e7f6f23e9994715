// The whole layer: modules and what they are made of.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/nn/clone.hpp>
#include <minitorch/nn/module.hpp>
#include <minitorch/nn/summary.hpp>
