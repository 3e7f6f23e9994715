// The vocabulary-parallel loss of gathered logits would count every symbol once a rank.
// SPDX-License-Identifier: MIT
// message: vocab_cross_entropy takes logits that are Sharded<last>
#include <minitorch/parallel.hpp>

namespace mt = minitorch;
namespace mp = minitorch::parallel;

void mistake(const mp::Placed<float, mp::Sharded<mp::last>>& logits, const mt::Tensor<std::int64_t>& targets) {
#ifdef MISTAKE
  (void)mp::vocab_cross_entropy(all_gather(logits), targets, 70);
#else
  (void)mp::vocab_cross_entropy(logits, targets, 70);
#endif
}
