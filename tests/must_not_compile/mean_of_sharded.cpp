// The mean of a shard is not a part of the mean.
// SPDX-License-Identifier: MIT
// message: average of averages
#include <minitorch/parallel.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

void mistake(const mp::Placed<float, mp::Sharded<0>>& x) {
#ifdef MISTAKE
  (void)mt::mean(x);
#else
  (void)mt::sum(x);
#endif
}
