// The only place that includes Eigen: as a system header, so that its warnings stay its own, and safe from hostile macros.
// SPDX-License-Identifier: MIT
#pragma once
#pragma GCC system_header

#pragma push_macro("min")
#pragma push_macro("max")
#pragma push_macro("I")
#pragma push_macro("Success")
#pragma push_macro("check")
#undef min
#undef max
#undef I
#undef Success
#undef check
// With -march=native g++ 12 takes its own intrinsics for uninitialised where Eigen uses them, system header or not.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#else
#include <eigen3/Eigen/Core>
#endif
#pragma GCC diagnostic pop
#pragma pop_macro("check")
#pragma pop_macro("Success")
#pragma pop_macro("I")
#pragma pop_macro("max")
#pragma pop_macro("min")
