// Optimizers, compiled once.
// SPDX-License-Identifier: MIT
#pragma once

#include <minitorch/optim/optim.hpp>

namespace minitorch::optim {

extern template class Optimizer<double, SGDRule>;
extern template class Optimizer<float, SGDRule>;
extern template class Optimizer<double, AdamRule>;
extern template class Optimizer<float, AdamRule>;
extern template class Optimizer<double, AdamWRule>;
extern template class Optimizer<float, AdamWRule>;

}  // namespace minitorch::optim
