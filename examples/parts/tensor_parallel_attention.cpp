// Attention with its heads split over ranks.
// SPDX-License-Identifier: MIT
#include <string>

#include <examples/parts/tensor_parallel.hpp>
#include <examples/parts/tensor_parallel_attention.hpp>

namespace examples {

const support::Part tensor_parallel_attention_part{"tensor_parallel_attention",
                                                   "Attention with its 4 heads over t ranks (double, [4, 96, 64])",
                                                   {{"ranks_1", "largest difference to whole attention, t = 1"},
                                                    {"ranks_2", "largest difference, t = 2"},
                                                    {"ranks_4", "largest difference, t = 4"},
                                                    {"ranks_3", "t = 3 does not divide the heads"}}};

namespace {

double split_attention(int ranks) {
  return most_of(mt::launch(ranks, [](mt::Communicator& comm) {
    const mp::Axis axis(comm);
    const mt::NoGrad forward_alone;
    const auto x = normal_numbers({4, 96, 64}, 1);
    const mt::nn::AttentionSettings settings{.dim = 64, .heads = 4};
    mt::manual_seed(model_seed);
    mt::nn::MultiHeadAttention<double> whole(settings);
    mt::manual_seed(model_seed);
    mp::ParallelAttention<double> split(axis, settings);
    return largest_difference(split(mp::invariant(axis, x)).local(), whole(x));
  }));
}

}  // namespace

void tensor_parallel_attention(support::Report& report) {
  report.begin(tensor_parallel_attention_part);
  for (int ranks : {1, 2, 4}) report.at_most("ranks_" + std::to_string(ranks), split_attention(ranks), 1e-14);
  std::string refusal = "none";
  try {
    split_attention(3);
  } catch (const mt::Error& error) {
    refusal = error.what();
  }
  report.contains("ranks_3", refusal, "3 shards do not divide 4 heads");
}

}  // namespace examples
