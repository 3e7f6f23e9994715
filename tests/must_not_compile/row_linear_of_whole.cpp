// A row-split layer multiplies slices.
// SPDX-License-Identifier: MIT
// message: sharded along its last dimension
#include <minitorch/parallel.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

void mistake(const mp::RowLinear<float>& layer, const mp::Placed<float, mp::Invariant>& x) {
#ifdef MISTAKE
  layer(x);
#else
  (void)layer(mp::shard<mp::last>(x));
#endif
}
