// An int is not an element of a tensor: indices are int64.
// SPDX-License-Identifier: MIT
// message: Element
#include <minitorch/core/scalar.hpp>

#ifdef MISTAKE
using Index = int;
#else
using Index = std::int64_t;
#endif

static_assert(minitorch::dtype_of<Index> == minitorch::DType::i64);
