// A module is moved or cloned: a loop that copies its blocks would train the copies.
// SPDX-License-Identifier: MIT
// message: deleted
#include <vector>

#include <minitorch/nn/module.hpp>

struct Layer : minitorch::nn::detail::MoveOnly {
  minitorch::Tensor<float> weight;
};
struct Block {
  Layer up, down;
};

void run(std::vector<Block>& blocks) {
#ifdef MISTAKE
  for (auto block : blocks) (void)block;
#else
  for (auto& block : blocks) (void)block;
#endif
}
