// LossReduction: what a loss does with its terms. Declared before the operations of these names.
// SPDX-License-Identifier: MIT
#pragma once

namespace minitorch {

enum class LossReduction { mean, sum, none };

}  // namespace minitorch
