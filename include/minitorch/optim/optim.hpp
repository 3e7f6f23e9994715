// The whole layer: optimizers, clipping, schedules, loss scaling.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/optim/adam.hpp>
#include <minitorch/optim/adaptive.hpp>
#include <minitorch/optim/clip.hpp>
#include <minitorch/optim/grad_scaler.hpp>
#include <minitorch/optim/optimizer.hpp>
#include <minitorch/optim/schedule.hpp>
#include <minitorch/optim/sgd.hpp>
