// Everything after min and max as macros (Windows), which standard headers themselves do not survive: they come first.
// SPDX-License-Identifier: MIT
#include <bits/stdc++.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include <tests/headers/hostile.hpp>

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))

#if __has_include(<minitorch/minitorch.hpp>)
#include <minitorch/minitorch.hpp>
#endif
#if __has_include(<minitorch/parallel.hpp>)
#include <minitorch/parallel.hpp>
#endif
