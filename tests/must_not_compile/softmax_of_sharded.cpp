// The sum of exponentials of a shard is not that of a row.
// SPDX-License-Identifier: MIT
// message: softmax and normalisation need the whole last dimension
#include <minitorch/parallel.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

void mistake(const mp::Placed<float, mp::Sharded<mp::last>>& x) {
#ifdef MISTAKE
  (void)mt::softmax(x);
#else
  (void)mt::softmax(mp::all_gather(x));
#endif
}
