// The whole layer: what every training program needs.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/train/draws.hpp>
#include <minitorch/train/language.hpp>
#include <minitorch/train/progress.hpp>
#include <minitorch/train/run.hpp>
#include <minitorch/train/system.hpp>
#include <minitorch/train/text.hpp>
#include <minitorch/train/world.hpp>
