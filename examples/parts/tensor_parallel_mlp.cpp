// An MLP split over ranks: first layer by columns, second by rows, one all-reduce; and the other way round, which is wrong.
// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <examples/parts/tensor_parallel.hpp>
#include <examples/parts/tensor_parallel_mlp.hpp>

namespace examples {

const support::Part tensor_parallel_mlp_part{"tensor_parallel_mlp",
                                             "An MLP over t ranks (double, [4, 96, 64])",
                                             {{"ranks_2", "largest difference to the whole MLP, t = 2"},
                                              {"ranks_4", "largest difference, t = 4"},
                                              {"ranks_8", "largest difference, t = 8"},
                                              {"whole_output", "largest number of the whole output"},
                                              {"wrong_split", "the wrong split: GELU before the sum, largest difference"}}};

namespace {

struct MlpDifference {
  double right, wrong, output;
};

std::vector<MlpDifference> split_mlp(int ranks) {
  return mt::launch(ranks, [](mt::Communicator& comm) {
    const mp::Axis axis(comm);
    const mt::NoGrad forward_alone;
    const auto x = normal_numbers({4, 96, 64}, 1);
    mt::manual_seed(model_seed);
    mt::nn::MLP<double> whole(64, 256, 64);
    mt::manual_seed(model_seed);  // the shards start as slices of the same numbers
    mp::ParallelMLP<double> split(axis, 64, 256, 64);
    const auto expected = whole(x);
    const double right = largest_difference(split(mp::invariant(axis, x)).local(), expected);

    // First layer by rows, and GELU before the sum. gelu(Partial) does not compile: local() leaves the types behind, on purpose.
    const std::int64_t inputs = 64 / comm.size(), inner = 256 / comm.size(), r = comm.rank();
    const auto x_slice = mt::take_range(x, 2, inputs * r, inputs);
    const auto up = mt::take_range(whole.up.weight, 1, inputs * r, inputs);
    auto part = mt::linear(x_slice, up);
    if (r == 0) part = part + whole.up.bias;
    const auto summed_late = mp::all_reduce(mp::Placed<double, mp::Partial>(axis, {mt::gelu(part)})).local();
    const auto hidden = mt::take_range(summed_late, 2, inner * r, inner);
    auto down = mt::linear(hidden, mt::take_range(whole.down.weight, 1, inner * r, inner));
    if (r == 0) down = down + whole.down.bias;
    const auto wrong = mp::all_reduce(mp::Placed<double, mp::Partial>(axis, {down})).local();
    return MlpDifference{right, largest_difference(wrong, expected), largest(expected)};
  });
}

}  // namespace

void tensor_parallel_mlp(support::Report& report) {
  report.begin(tensor_parallel_mlp_part);
  MlpDifference last{};
  for (int ranks : {2, 4, 8}) {
    double right = 0;
    for (const MlpDifference& rank : split_mlp(ranks)) {
      right = std::max(right, rank.right);
      if (ranks == 2) last = rank;
    }
    report.at_most("ranks_" + std::to_string(ranks), right, 1e-14);
  }
  report.show("whole_output", last.output);
  report.differs("wrong_split", last.wrong, 0.0, last.output / 10);
  report.say(
      "GELU(a + b) is not GELU(a) + GELU(b): the wrong split is off by the size of the output itself. Written with placed values it does "
      "not compile.");
}

}  // namespace examples
