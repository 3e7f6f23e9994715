// Resident memory as the kernel counts it.
// SPDX-License-Identifier: MIT
#include <fstream>
#include <string>

#include <examples/support/measure.hpp>

namespace support {

std::int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::int64_t kib = 0; word == "VmHWM:" && status >> kib) return kib * 1024;
  return 0;
}

}  // namespace support
