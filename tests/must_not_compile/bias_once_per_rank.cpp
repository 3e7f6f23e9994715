// A whole bias added to a part is added once per rank.
// SPDX-License-Identifier: MIT
// message: is added once per shard
#include <minitorch/parallel.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

void mistake(const mp::Placed<float, mp::Partial>& x, const mp::Placed<float, mp::Invariant>& bias) {
#ifdef MISTAKE
  (void)(x + bias);
#else
  (void)(mp::all_reduce(x) + bias);
#endif
}
