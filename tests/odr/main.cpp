// Both files compute the same bits, whichever copies of the inline functions the linker kept.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include <tests/odr/program.hpp>

std::vector<float> compute_there();

int main() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 77;  // this file may use them
#endif
  const std::vector<float> here = compute(), there = compute_there();
  std::printf("%zu numbers, sum %g and %g\n", here.size(), static_cast<double>(here.back()), static_cast<double>(there.back()));
  return here == there && here.back() > 0 ? 0 : 1;
}
