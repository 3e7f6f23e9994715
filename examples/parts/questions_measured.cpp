// Questions 5 to 9 about training at scale: their answers measured in small.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include <examples/parts/data_parallel.hpp>
#include <examples/parts/nine_questions.hpp>
#include <examples/parts/residual_pass.hpp>
#include <examples/parts/split_products.hpp>
#include <minitorch/parallel.hpp>

namespace examples {

namespace mt = minitorch;

const support::Part questions_measured_part{"questions_measured",
                                            "Nine questions, 5 to 9",
                                            {{"q5_sum", "5  summing reduction, rank r gives S_r / N"},
                                             {"q5_average", "   averaging reduction, rank r gives S_r W / N"},
                                             {"q5_factor_forgotten", "   the wrong way: S_r W / N summed"},
                                             {"q6_entries", "6  checkpointed over plain: entries"},
                                             {"q6_flops", "   floating-point operations of products"},
                                             {"q6_time", "   time"},
                                             {"q6_saved_bytes", "   saved bytes"},
                                             {"q6_resident", "   growth of resident memory"},
                                             {"q7_columns_concatenated", "7  column-split products concatenated, difference"},
                                             {"q7_rows_summed", "   row-split products summed, difference"},
                                             {"q8_model_bytes", "8  model, gradients and Adam's state, bytes on each of 1, 2, 4 ranks"},
                                             {"q8_activation_bytes", "   activations saved, bytes on each of 1, 2, 4 ranks"},
                                             {"q9_half_60000", "9  60000 as half"},
                                             {"q9_float_update", "   float after an update that overflows"},
                                             {"q9_float_input", "   float layer on an input that is not a number"}}};

// What one of `ranks` data parallel ranks holds: its model with gradients and Adam's state, and what its forward pass saves.
struct Held {
  std::int64_t model, activations;
};
Held held_by_a_rank(mt::Communicator& comm, std::int64_t batch) {
  mt::manual_seed(8);
  const std::int64_t before = mt::live_bytes();
  mt::nn::MLP<float> model(64, 256, 64);
  mt::optim::Adam<float> adam(model);
  const auto parameters = mt::nn::parameters<float>(model);
  Held held{};
  {
    const auto x = mt::ones<float>({batch / comm.size(), 64});
    mt::Tensor<float> loss;
    {
      const mt::SavedMeter meter;
      loss = mt::sum(mt::square(model(x)));
      held.activations = meter.bytes(std::vector<mt::AnyTensor>(parameters.begin(), parameters.end()));
    }
    loss.backward();
  }
  for (const auto& parameter : parameters) {
    auto gradient = parameter.grad();
    comm.all_reduce(gradient.mutable_values());
  }
  adam.step();
  held.model = mt::live_bytes() - before;
  return held;
}

void questions_measured(support::Report& report) {
  report.begin(questions_measured_part);
  const DataParallelExample two;
  const std::vector<double> right{0.5, 0.14};
  const auto rank_0 = [&](Route route) {
    return mt::launch(two.ranks, [&](mt::Communicator& comm) { return rank_step(two, comm, route); }).front();
  };
  report.check("q5_sum", rank_0(Route::sum_of_sums), right, 1e-12);
  report.check("q5_average", rank_0(Route::average_of_scaled), right, 1e-12);
  report.differs("q5_factor_forgotten", rank_0(Route::sum_of_scaled), right, 1e-3);

  const CheckpointExample blocks{.large_batch = 512};
  const Pass plain = run_pass(blocks, blocks.large_batch, false, true), again = run_pass(blocks, blocks.large_batch, true, true);
  const Cost plain_cost = measure_alone(blocks, false), again_cost = measure_alone(blocks, true);
  const auto ratio = [](auto a, auto b) { return static_cast<double>(a) / static_cast<double>(b); };
  report.check("q6_entries", ratio(again.entered, plain.entered), 2.0);
  report.show("q6_flops", again.flops / plain.flops);
  report.show("q6_time", again_cost.seconds / plain_cost.seconds);
  report.show("q6_saved_bytes", ratio(again.saved_bytes, plain.saved_bytes));
  report.show("q6_resident", ratio(again_cost.resident_bytes, plain_cost.resident_bytes));

  const auto x = some_matrix(3, 4), w = some_matrix(4, 6), whole = mt::matmul(x, w);
  report.at_most("q7_columns_concatenated", support::difference(numbers(by_columns(x, w, 3)), numbers(whole)), 1e-12);
  report.at_most("q7_rows_summed", support::difference(numbers(by_rows(x, w, 2)), numbers(whole)), 1e-12);

  std::vector<double> model, activations;
  for (int ranks : {1, 2, 4}) {
    const Held held = mt::launch(ranks, [](mt::Communicator& comm) { return held_by_a_rank(comm, 64); }).front();
    model.push_back(static_cast<double>(held.model));
    activations.push_back(static_cast<double>(held.activations));
  }
  report.check("q8_model_bytes", model, std::vector<double>(3, model[0]));
  report.check("q8_activation_bytes", activations, std::vector{activations[0], activations[0] / 2, activations[0] / 4});

  report.check("q9_half_60000", double{static_cast<float>(mt::tensor<float>({60000}).to<mt::half>().item())}, 60000.0);
  mt::nn::Linear<float> linear(2, 1);
  auto weight = mt::full<float>({1}, std::numeric_limits<float>::max()).set_requires_grad();
  mt::optim::SGD<float> sgd(std::vector{weight}, {.lr = 1});
  (-weight[0] * 1e38f).backward();
  sgd.step();
  report.check("q9_float_update", double{weight.item()}, HUGE_VAL);
  const auto bad = linear(mt::tensor<float>({std::numeric_limits<float>::quiet_NaN(), 1}));
  report.check("q9_float_input", std::isnan(bad.item()) ? "nan" : "finite", "nan");
  report.say("docs/nine_questions.md explains the answers.");
}

}  // namespace examples
