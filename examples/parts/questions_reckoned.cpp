// Questions 1 to 4 about training at scale: their answers reckoned from numbers that are flags.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include <examples/parts/nine_questions.hpp>
#include <minitorch/minitorch.hpp>

namespace examples {

namespace mt = minitorch;

const support::Part questions_reckoned_part{"questions_reckoned",
                                            "Nine questions, 1 to 4",
                                            {{"q1_attainable", "1  attainable TFLOP/s: min(peak, bandwidth x intensity)"},
                                             {"q1_attainable_higher_peak", "   with twice the peak"},
                                             {"q2_bytes_per_parameter", "2  bytes a parameter: master, moments, weight, gradient"},
                                             {"q2_gigabytes", "   of all parameters, GB (10^9 bytes)"},
                                             {"q2_measured", "   measured here: float Linear and Adam, bytes a parameter"},
                                             {"q3_samples", "3  samples that an update sees"},
                                             {"q3_weights_equal", "   every token's weight: sums, divided once by the window's count"},
                                             {"q3_average_of_means", "   the wrong way: largest weight over smallest, means averaged"},
                                             {"q4_mean", "4  mean of all samples from two means"},
                                             {"q4_average_of_means", "   the wrong way: the average of the means"}}};

void Questions::flags(support::Program& program) {
  program.flag("--peak", peak, "Question 1: peak of the processor, TFLOP/s", 0.001, 1e6);
  program.flag("--bandwidth", bandwidth, "Question 1: memory bandwidth, TB/s", 0.001, 1e6);
  program.flag("--intensity", intensity, "Question 1: arithmetic intensity, FLOP/byte", 0.001, 1e6);
  program.flag("--parameters", parameters, "Question 2: parameters of the model", 1.0, 1e15);
  program.flag("--micro-batch", micro_batch, "Question 3: samples in a micro-batch", 1, 100000);
  program.flag("--accumulation", accumulation, "Question 3: micro-batches between two updates", 1, 1000);
  program.flag("--data-ranks", data_ranks, "Question 3: ranks that share the data", 1, 1000);
  program.flag("--mean-a", mean_a, "Question 4: mean of the first samples", -1e12, 1e12);
  program.flag("--samples-a", samples_a, "Question 4: number of the first samples", 1, 1000000);
  program.flag("--mean-b", mean_b, "Question 4: mean of the second samples", -1e12, 1e12);
  program.flag("--samples-b", samples_b, "Question 4: number of the second samples", 1, 1000000);
}

// Bytes of tensors a parameter that training holds between two steps: the weight, its gradient and what Adam keeps.
double measured_bytes_per_parameter() {
  const std::int64_t before = mt::live_bytes();
  mt::nn::Linear<float> model(512, 512);
  mt::optim::Adam<float> adam(model);
  {
    const auto x = mt::ones<float>({1, 512});
    mt::sum(model(x)).backward();
  }
  adam.step();
  return static_cast<double>(mt::live_bytes() - before) / static_cast<double>(mt::nn::parameter_count(model));
}

// The weight that each of the window's tokens gets in the update: the gradient of the loss by the loss of the token. Micro-batch k
// has k % 4 + 1 valid tokens; their loss is summed, or averaged.
std::vector<double> token_weights(int micro_batches, bool average_of_means) {
  std::vector<double> weights;
  double tokens = 0;
  for (int k = 0; k < micro_batches; ++k) {
    auto losses = mt::ones<double>({k % 4 + 1}).set_requires_grad();
    (average_of_means ? mt::mean(losses) : mt::sum(losses)).backward();
    const auto gradient = losses.grad();
    weights.insert(weights.end(), gradient.values().begin(), gradient.values().end());
    tokens += k % 4 + 1;
  }
  for (double& weight : weights) weight /= average_of_means ? micro_batches : tokens;
  return weights;
}

double largest_over_smallest(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  return most / least;
}

void questions_reckoned(support::Report& report, const Questions& q) {
  report.begin(questions_reckoned_part);
  const Questions usual;
  // A reference is known for the usual inputs; with others the line shows what comes out.
  const auto answer = [&](const char* key, const support::Value& value, const support::Value& reference, bool is_usual) {
    is_usual ? report.check(key, value, reference) : report.show(key, value);
  };
  const bool usual_1 = q.peak == usual.peak && q.bandwidth == usual.bandwidth && q.intensity == usual.intensity;
  answer("q1_attainable", std::min(q.peak, q.bandwidth * q.intensity), 10.0, usual_1);
  answer("q1_attainable_higher_peak", std::min(2 * q.peak, q.bandwidth * q.intensity), 10.0, usual_1);

  constexpr std::int64_t bytes = sizeof(float) + 2 * sizeof(float) + sizeof(mt::bfloat16) + sizeof(mt::bfloat16);
  report.check("q2_bytes_per_parameter", bytes, std::int64_t{16});
  answer("q2_gigabytes", q.parameters * static_cast<double>(bytes) / 1e9, 16.0, q.parameters == usual.parameters);
  report.check("q2_measured", measured_bytes_per_parameter(), 16.0, 0.01);

  const std::int64_t micro_batches = std::int64_t{q.accumulation} * q.data_ranks;
  const bool usual_3 = q.micro_batch == usual.micro_batch && q.accumulation == usual.accumulation && q.data_ranks == usual.data_ranks;
  answer("q3_samples", q.micro_batch * micro_batches, std::int64_t{24}, usual_3);
  report.check("q3_weights_equal", largest_over_smallest(token_weights(static_cast<int>(micro_batches), false)), 1.0);
  if (micro_batches > 1)
    report.differs("q3_average_of_means", largest_over_smallest(token_weights(static_cast<int>(micro_batches), true)), 1.0);

  const bool usual_4 =
      q.mean_a == usual.mean_a && q.mean_b == usual.mean_b && q.samples_a == usual.samples_a && q.samples_b == usual.samples_b;
  const double mean = (q.samples_a * q.mean_a + q.samples_b * q.mean_b) / (q.samples_a + q.samples_b), average = (q.mean_a + q.mean_b) / 2;
  answer("q4_mean", mean, 16.0, usual_4);
  if (mean != average) report.differs("q4_average_of_means", average, mean);
  report.say("docs/nine_questions.md explains the answers.");
}

}  // namespace examples
