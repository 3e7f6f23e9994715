// A column-split layer gives a part of its input's gradient: the input must be Replicated.
// SPDX-License-Identifier: MIT
// message: replicate(x) an Invariant one
#include <minitorch/parallel.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

void mistake(const mp::ColumnLinear<float>& layer, const mp::Placed<float, mp::Invariant>& x) {
#ifdef MISTAKE
  layer(x);
#else
  (void)layer(mp::replicate(x));
#endif
}
