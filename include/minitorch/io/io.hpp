// The whole layer: files of tensors, logs.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/io/eigen.hpp>
#include <minitorch/io/file.hpp>
#include <minitorch/io/json.hpp>
#include <minitorch/io/log.hpp>
#include <minitorch/io/npy.hpp>
#include <minitorch/io/safetensors.hpp>
