// The gradient of a Replicated loss would be counted once per rank.
// SPDX-License-Identifier: MIT
// message: start from an Invariant or a Partial value
#include <minitorch/parallel.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

void mistake(const mp::Placed<float, mp::Replicated>& x) {
#ifdef MISTAKE
  x.backward();
#else
  (void)x;
#endif
}
