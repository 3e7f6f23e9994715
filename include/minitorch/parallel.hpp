// Everything that needs processes: ranks, collectives, and values that say where they live.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/comm/launch.hpp>
#include <minitorch/comm/mesh.hpp>
#include <minitorch/comm/self.hpp>
#include <minitorch/minitorch.hpp>
#include <minitorch/parallel/axis.hpp>
#include <minitorch/parallel/clip.hpp>
#include <minitorch/parallel/collectives.hpp>
#include <minitorch/parallel/data_parallel.hpp>
#include <minitorch/parallel/gpt.hpp>
#include <minitorch/parallel/linear.hpp>
#include <minitorch/parallel/moves.hpp>
#include <minitorch/parallel/operations.hpp>
#include <minitorch/parallel/optimizer_state.hpp>
#include <minitorch/parallel/overlap.hpp>
#include <minitorch/parallel/placement.hpp>
#include <minitorch/parallel/rules.hpp>
#include <minitorch/parallel/sharded_parameter.hpp>
#include <minitorch/parallel/state.hpp>
#include <minitorch/parallel/transformer.hpp>
#include <minitorch/parallel/vocab.hpp>
