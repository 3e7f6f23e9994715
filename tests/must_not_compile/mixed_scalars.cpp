// Which type the sum of a float and a double tensor should have is for the caller to say.
// SPDX-License-Identifier: MIT
// message: convert one of them with .to<U>()
#include <minitorch/autograd/factories.hpp>
#include <minitorch/ops/operators.hpp>

namespace mt = minitorch;

mt::Tensor<double> total(const mt::Tensor<float>& a, const mt::Tensor<double>& b) {
#ifdef MISTAKE
  return a + b;
#else
  return a.to<double>() + b;
#endif
}
