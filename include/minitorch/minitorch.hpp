// Everything that is portable: all but what needs processes (parallel.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/io/io.hpp>
#include <minitorch/nn/nn.hpp>
#include <minitorch/ops/ops.hpp>
#include <minitorch/optim/optim.hpp>
#include <minitorch/train/train.hpp>
#include <minitorch/version.hpp>
