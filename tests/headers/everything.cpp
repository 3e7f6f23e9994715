// Everything after min and max as macros (Windows), which standard headers themselves do not survive: they come first.
// SPDX-License-Identifier: MIT
#include <bits/stdc++.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include <tests/headers/hostile.hpp>

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))

#include <all_headers.hpp>  // generated: every header of the library
