// Everything that is portable: tensors, differentiation, operations.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/ops/ops.hpp>
#include <minitorch/version.hpp>
