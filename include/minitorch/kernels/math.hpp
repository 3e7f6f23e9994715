// The functions of a number, for Packs (found by argument-dependent lookup from generic code) and for plain numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/kernels/math/activation.hpp>
#include <minitorch/kernels/math/erf.hpp>
#include <minitorch/kernels/math/log.hpp>
#include <minitorch/kernels/math/plain.hpp>
#include <minitorch/kernels/math/pow.hpp>
#include <minitorch/kernels/math/trig.hpp>
