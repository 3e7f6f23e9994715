// The version: the single source that CMake, pkg-config and find_package read.
// SPDX-License-Identifier: MIT
#pragma once

#define MINITORCH_VERSION_MAJOR 0
#define MINITORCH_VERSION_MINOR 1
#define MINITORCH_VERSION_PATCH 0
