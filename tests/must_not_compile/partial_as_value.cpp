// A part of a sum is not the value.
// SPDX-License-Identifier: MIT
// message: only an Invariant value is the same number on every rank
#include <minitorch/parallel.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

float mistake(const mp::Placed<float, mp::Partial>& x) {
#ifdef MISTAKE
  return x.item();
#else
  return mp::all_reduce(x).item();
#endif
}
