// An Invariant value's gradient is whole on every rank; a shard would give a slice of it.
// SPDX-License-Identifier: MIT
// message: mixes only with Invariant ones
#include <minitorch/parallel.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

void mistake(const mp::Placed<float, mp::Invariant>& a, const mp::Placed<float, mp::Sharded<mp::last>>& b) {
#ifdef MISTAKE
  (void)(a + b);
#else
  (void)(mp::replicate(a) + b);
#endif
}
