// The backward pass of a split MLP: weight gradients are slices of the whole one's, the input's gradient needs one all-reduce.
// SPDX-License-Identifier: MIT
#include <vector>

#include <examples/parts/tensor_parallel.hpp>
#include <examples/parts/tensor_parallel_backward.hpp>

namespace examples {

const support::Part tensor_parallel_backward_part{"tensor_parallel_backward",
                                                  "Gradients over 4 ranks (double, mean((out - target)^2))",
                                                  {{"up_weight", "shards' gradients of the first weight, difference to slices"},
                                                   {"down_weight", "shards' gradients of the second weight"},
                                                   {"input", "gradient of the input, after its all-reduce"},
                                                   {"forward_all_reduces", "all-reduces forward, MLP and attention"},
                                                   {"backward_all_reduces", "all-reduces backward, MLP and attention"}}};

namespace {

struct BackwardNumbers {
  double up, down, input, forward_calls, backward_calls;
};

std::vector<BackwardNumbers> split_backward() {
  return mt::launch(4, [](mt::Communicator& comm) {
    const mp::Axis axis(comm);
    const auto target = normal_numbers({4, 96, 64}, 2);
    const auto loss_of = [&](const auto& y, const auto& t) { return mt::mean(mt::square(y - t)); };
    auto x = normal_numbers({4, 96, 64}, 1).set_requires_grad(), whole_x = normal_numbers({4, 96, 64}, 1).set_requires_grad();

    mt::manual_seed(model_seed);
    mt::nn::MLP<double> whole(64, 256, 64);
    loss_of(whole(whole_x), target).backward();

    mt::manual_seed(model_seed);
    mp::ParallelMLP<double> split(axis, 64, 256, 64);
    loss_of(split(mp::invariant(axis, x)), mp::invariant(axis, target)).backward();

    const auto slice_difference = [&](const mp::ShardedParameter<double>& shards, const mt::Tensor<double>& gradient) {
      const std::int64_t length = shards.whole[shards.dim] / comm.size();
      return largest_difference(shards.shards[0].grad(), mt::take_range(gradient, shards.dim, length * comm.rank(), length));
    };
    BackwardNumbers numbers{slice_difference(split.up.weight, whole.up.weight.grad()),
                            slice_difference(split.down.weight, whole.down.weight.grad()), largest_difference(x.grad(), whole_x.grad()), 0,
                            0};

    // One layer of a transformer, counted.
    mp::ParallelAttention<double> attention(axis, {.dim = 64, .heads = 4});
    const auto calls = [&] { return static_cast<double>(comm.counters()[mt::comm::Verb::all_reduce].calls); };
    const double before = calls();
    const auto loss = mt::mean(mt::square(split(attention(mp::invariant(axis, x)))));
    numbers.forward_calls = calls() - before;
    loss.backward();
    numbers.backward_calls = calls() - before - numbers.forward_calls;
    return numbers;
  });
}

}  // namespace

void tensor_parallel_backward(support::Report& report) {
  BackwardNumbers most{};
  for (const BackwardNumbers& rank : split_backward()) {
    most.up = std::max(most.up, rank.up);
    most.down = std::max(most.down, rank.down);
    most.input = std::max(most.input, rank.input);
    most.forward_calls = std::max(most.forward_calls, rank.forward_calls);
    most.backward_calls = std::max(most.backward_calls, rank.backward_calls);
  }
  report.begin(tensor_parallel_backward_part);
  report.at_most("up_weight", most.up, 1e-15);
  report.at_most("down_weight", most.down, 1e-15);
  report.at_most("input", most.input, 1e-15);
  report.check("forward_all_reduces", most.forward_calls, 2.0);
  report.check("backward_all_reduces", most.backward_calls, 2.0);
  report.say(
      "Identity forward with all-reduce backward, and all-reduce forward with identity backward, are a conjugate pair: one of each for the "
      "MLP and one of each for attention, 4 in all per layer.");
}

}  // namespace examples
