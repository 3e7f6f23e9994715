// What the library minitorch::compiled holds ready: programs that link it include this file beside the others and compile faster.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/compiled/arithmetic.hpp>
#include <minitorch/compiled/attention.hpp>
#include <minitorch/compiled/autograd.hpp>
#include <minitorch/compiled/comm.hpp>
#include <minitorch/compiled/composite.hpp>
#include <minitorch/compiled/elementwise.hpp>
#include <minitorch/compiled/kernels.hpp>
#include <minitorch/compiled/nn.hpp>
#include <minitorch/compiled/optim.hpp>
#include <minitorch/compiled/transformer.hpp>
