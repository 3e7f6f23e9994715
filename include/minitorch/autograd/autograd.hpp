// The whole layer: tensors, the graph and the engine. What operations are made of.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/autograd/any_tensor.hpp>
#include <minitorch/autograd/arithmetic.hpp>
#include <minitorch/autograd/backward.hpp>
#include <minitorch/autograd/broadcast.hpp>
#include <minitorch/autograd/checkpoint.hpp>
#include <minitorch/autograd/compute.hpp>
#include <minitorch/autograd/engine.hpp>
#include <minitorch/autograd/factories.hpp>
#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/autograd/gradcheck.hpp>
#include <minitorch/autograd/hooks.hpp>
#include <minitorch/autograd/in_place.hpp>
#include <minitorch/autograd/interceptor.hpp>
#include <minitorch/autograd/leaf.hpp>
#include <minitorch/autograd/matmul.hpp>
#include <minitorch/autograd/meter.hpp>
#include <minitorch/autograd/narrow_saved.hpp>
#include <minitorch/autograd/operation.hpp>
#include <minitorch/autograd/placement.hpp>
#include <minitorch/autograd/policy.hpp>
#include <minitorch/autograd/print.hpp>
#include <minitorch/autograd/record.hpp>
#include <minitorch/autograd/saved.hpp>
#include <minitorch/autograd/state_dict.hpp>
#include <minitorch/autograd/tensor.hpp>
#include <minitorch/autograd/view.hpp>
#include <minitorch/autograd/visit.hpp>
