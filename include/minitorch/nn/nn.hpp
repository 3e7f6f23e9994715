// The whole layer: modules and what they are made of.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/nn/activation.hpp>
#include <minitorch/nn/as.hpp>
#include <minitorch/nn/attention.hpp>
#include <minitorch/nn/clone.hpp>
#include <minitorch/nn/dropout.hpp>
#include <minitorch/nn/embedding.hpp>
#include <minitorch/nn/gpt.hpp>
#include <minitorch/nn/init.hpp>
#include <minitorch/nn/linear.hpp>
#include <minitorch/nn/mlp.hpp>
#include <minitorch/nn/module.hpp>
#include <minitorch/nn/norm.hpp>
#include <minitorch/nn/sequential.hpp>
#include <minitorch/nn/summary.hpp>
#include <minitorch/nn/transformer.hpp>
