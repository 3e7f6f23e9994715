// What this layer asks of the operating system: leave to use the tile registers of AMX, which a Linux process must request.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace minitorch::kernels::detail {

// True when this process may use tiles from now on; its children inherit that. False as well on a kernel older than 5.16.
inline bool amx_permitted() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

}  // namespace minitorch::kernels::detail
