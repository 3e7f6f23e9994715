// Data parallel training: every rank has some samples, all take the step that the whole batch would take.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <examples/parts/data_parallel.hpp>
#include <minitorch/minitorch.hpp>
#include <minitorch/parallel.hpp>

namespace examples {

namespace mt = minitorch;

const support::Part data_parallel_part{"data_parallel",
                                       "Synchronised gradients: forked processes, shared memory, one step of SGD on y = 2x + 1",
                                       {{"whole_batch", "whole batch, one process: weight and bias"},
                                        {"whole_batch_bits", "their bits"},
                                        {"samples", "samples that each rank has"},
                                        {"processes", "distinct processes, none of them this one"},
                                        {"sum_of_sums", "rank 0, gradients S_r / N summed"},
                                        {"sum_of_sums_equal", "all ranks bitwise equal"},
                                        {"average_of_scaled", "rank 0, gradients S_r W / N averaged"},
                                        {"average_of_scaled_equal", "all ranks bitwise equal"},
                                        {"average_of_means", "the wrong way: means of the ranks averaged"},
                                        {"average_of_means_wrong", "which is not the step of the whole batch"}}};

void DataParallelExample::flags(support::Program& program) {
  program.flag("--ranks", ranks, "Processes that share the samples", 1, 64);
  program.flag("--samples", samples, "Samples x = 1, 2, ..., y = 2x + 1", 1, 100000);
  program.flag("--lr", lr, "Learning rate", 0.0, 1.0);
}

// One step from zero on samples [first, last); reduce(loss sum, own count) gives the loss, combine(gradient) makes it that of all.
template <class Loss, class Combine>
std::vector<double> step(const DataParallelExample& example, std::int64_t first, std::int64_t last, Loss loss_of, Combine combine) {
  const auto x = mt::arange<double>(static_cast<double>(first + 1), static_cast<double>(last + 1)).reshape({last - first, 1});
  const auto y = 2.0 * x + 1.0;
  const auto zero = mt::nn::Init::constant(0);
  mt::nn::Linear<double> model(1, 1, {.weight_init = zero, .bias_init = zero});
  mt::optim::SGD<double> sgd(model, {.lr = example.lr});
  loss_of(mt::mse_loss(model(x), y, mt::LossReduction::sum), last - first).backward();
  for (auto& parameter : mt::nn::parameters<double>(model)) combine(parameter.grad());
  sgd.step();
  return {model.weight.item(), model.bias.item()};
}

std::vector<double> whole_batch_step(const DataParallelExample& example) {
  const auto mean = [](const auto& sum, std::int64_t count) { return sum / count; };
  return step(example, 0, example.samples, mean, [](const auto&) {});
}

std::vector<double> rank_step(const DataParallelExample& example, mt::Communicator& comm, Route route) {
  const auto loss_of = [&](const auto& sum, std::int64_t own) {
    std::vector<std::int64_t> count{own};
    comm.all_reduce(count);  // the ranks agree on N
    if (route == Route::sum_of_sums) return sum / count[0];
    return route == Route::average_of_means ? sum / own : sum * comm.size() / count[0];
  };
  const bool summing = route == Route::sum_of_sums || route == Route::sum_of_scaled;
  const auto how = summing ? mt::Reduction::sum : mt::Reduction::average;
  return step(example, example.first(comm.rank()), example.first(comm.rank() + 1), loss_of,
              [&](mt::Tensor<double> gradient) { comm.all_reduce(gradient.mutable_values(), how); });
}

void data_parallel(support::Report& report, const DataParallelExample& example) {
  const auto on_ranks = [&](Route route) {
    return mt::launch(example.ranks, [&](mt::Communicator& comm) { return rank_step(example, comm, route); });
  };
  const auto all_equal = [](const auto& results) { return std::set(results.begin(), results.end()).size() == 1; };
  const std::vector<double> whole = whole_batch_step(example);

  report.begin(data_parallel_part);
  // From zero the gradient is -2 mean(x y), -2 mean(y), with mean(x) = (n + 1) / 2 and mean(x^2) = (n + 1) (2 n + 1) / 6.
  const double n = example.samples, mean_x = (n + 1) / 2, mean_xx = (n + 1) * (2 * n + 1) / 6;
  const double bound = 1e-12 * std::max(1.0, whole[0]);
  report.check("whole_batch", whole, std::vector{example.lr * 2 * (2 * mean_xx + mean_x), example.lr * 2 * (2 * mean_x + 1)}, bound);
  if (example.is_default()) report.check("whole_batch_bits", fmt::format("{:a}, {:a}", whole[0], whole[1]), "0x1p-1, 0x1.1eb851eb851ecp-3");
  std::vector<double> shares;
  for (int r = 0; r < example.ranks; ++r) shares.push_back(static_cast<double>(example.first(r + 1) - example.first(r)));
  report.show("samples", shares);
  auto pids = mt::launch(example.ranks, [](mt::Communicator&) { return std::int64_t{::getpid()}; });
  pids.push_back(::getpid());
  report.check("processes", std::set(pids.begin(), pids.end()).size() == pids.size());

  const auto sums = on_ranks(Route::sum_of_sums), scaled = on_ranks(Route::average_of_scaled), means = on_ranks(Route::average_of_means);
  report.check("sum_of_sums", sums[0], whole, bound);
  report.check("sum_of_sums_equal", all_equal(sums));
  report.check("average_of_scaled", scaled[0], whole, bound);
  report.check("average_of_scaled_equal", all_equal(scaled));
  if (example.is_default()) report.check("average_of_means", means[0], std::vector{0.43833333333333335, 0.13}, 1e-12);
  if (example.samples % example.ranks != 0) report.differs("average_of_means_wrong", means[0], whole, 1e-3 * example.lr);
}

}  // namespace examples
