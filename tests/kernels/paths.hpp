// The instruction paths that this machine can take, and a scope that limits kernels to one of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <minitorch/kernels/isa.hpp>

// Every path up to the machine's best one.
inline std::vector<minitorch::kernels::Isa> paths() {
  using minitorch::kernels::Isa;
  std::vector<Isa> found;
  for (std::size_t i = 0; i < minitorch::kernels::isa_names.size(); ++i)
    if (const Isa isa = static_cast<Isa>(i); isa <= minitorch::kernels::detail::initial_isa()) found.push_back(isa);
  return found;
}

class PathLimit {
 public:
  explicit PathLimit(minitorch::kernels::Isa isa) : before_(minitorch::kernels::isa()) { minitorch::kernels::limit_isa(isa); }
  ~PathLimit() { minitorch::kernels::limit_isa(before_); }
  PathLimit(const PathLimit&) = delete;
  PathLimit& operator=(const PathLimit&) = delete;

 private:
  minitorch::kernels::Isa before_;
};
