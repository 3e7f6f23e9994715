// GELU before the sum: a nonlinear function of a part is not a part of the function.
// SPDX-License-Identifier: MIT
// message: GELU(a + b) is not GELU(a) + GELU(b)
#include <minitorch/parallel.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

void mistake(const mp::Placed<float, mp::Partial>& x) {
#ifdef MISTAKE
  (void)mt::gelu(x);
#else
  (void)mt::gelu(mp::all_reduce(x));
#endif
}
