// The launch of real ranks, compiled once for all tests: tests/comm/ranks.hpp declares it extern.
// SPDX-License-Identifier: MIT
#include <minitorch/comm/launch.hpp>

template std::vector<std::string> minitorch::comm::launch_encoded<minitorch::comm::Native>(const minitorch::LaunchOptions&, int,
                                                                                           const minitorch::comm::Body&);
