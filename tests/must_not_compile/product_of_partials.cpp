// A product of sums is not the sum of products.
// SPDX-License-Identifier: MIT
// message: a product of sums is not the sum of products
#include <minitorch/parallel.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

void mistake(const mp::Placed<float, mp::Partial>& a, const mp::Placed<float, mp::Partial>& b) {
#ifdef MISTAKE
  (void)(a * b);
#else
  (void)(a + b);
#endif
}
