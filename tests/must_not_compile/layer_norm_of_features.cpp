// The mean and variance of a shard of the features are not those of a row.
// SPDX-License-Identifier: MIT
// message: normalisation needs the whole last dimension
#include <minitorch/parallel.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

void mistake(const mt::nn::LayerNorm<float>& norm, const mp::Placed<float, mp::Sharded<mp::last>>& x) {
#ifdef MISTAKE
  (void)norm(x);
#else
  (void)norm(mp::all_gather(x));
#endif
}
