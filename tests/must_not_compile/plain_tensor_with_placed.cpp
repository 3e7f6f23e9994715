// A plain tensor does not say where it lives.
// SPDX-License-Identifier: MIT
// message: a plain tensor does not say where it lives
#include <minitorch/parallel.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

void mistake(const mp::Placed<float, mp::Invariant>& a, const mt::Tensor<float>& b) {
#ifdef MISTAKE
  (void)(a + b);
#else
  (void)(a + mp::invariant(a.axis(), b));
#endif
}
