// An MLP that reads digits of 8 x 8 pixels: real ones where there are any, else generated ones; softmax and AdamW.
// SPDX-License-Identifier: MIT

// Run: scripts/demo mlp_digits [--data FILE] [--epochs N] [--hidden N]
// Prints which digits, and the accuracy on pictures it was not trained on, one of five: at least 95 %.
// In tests: --data generated

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include <fmt/format.h>
#include <examples/mlp_digits.hpp>
#include <examples/support/program.hpp>

namespace {

namespace mt = minitorch;
using examples::Digits;

constexpr std::int64_t batch = 64;

// The share of pictures whose largest logit is that of their label.
template <class Model>
double accuracy(const Model& model, const Digits& digits) {
  const mt::NoGrad guard;
  const auto read = mt::argmax(model(digits.pixels), -1);
  const auto right = std::transform_reduce(read.data(), read.data() + read.numel(), digits.labels.data(), std::int64_t{0}, std::plus<>(),
                                           std::equal_to<>());
  return static_cast<double>(right) / static_cast<double>(read.numel());
}

const support::Part part{"digits",
                         "Reading digits",
                         {{"data", "which digits"},
                          {"pictures", "pictures to train on"},
                          {"parameters", "numbers in the model"},
                          {"first_loss", "mean loss of the first epoch"},
                          {"last_loss", "mean loss of the last epoch"},
                          {"training_accuracy", "right on the pictures it was trained on"},
                          {"accuracy", "right on one of five, held out"},
                          {"good", "at least 95 % of those"}}};

}  // namespace

int main(int argc, char** argv) {
  std::string data;
  std::int64_t epochs = 40, hidden = 128, count = 5000, seed = 1;
  double lr = 2e-3, noise = 0.25;
  support::Program program("mlp_digits", "An MLP reads digits of 8 x 8 pixels.", {&part});
  program.flag("--data", data, "A file of lines with 64 grey values and a label, or 'generated'; else those of Debian's python3-sklearn");
  program.flag("--epochs", epochs, "Passes over the pictures", 1, 10000);
  program.flag("--hidden", hidden, "Width of the hidden layer", 1, 100000);
  program.flag("--lr", lr, "Learning rate", 0.0, 10.0);
  program.flag("--pictures", count, "Generated pictures", 100, 1000000);
  program.flag("--noise", noise, "Brightness of the generated pictures' noise", 0.0, 10.0);
  program.flag("--seed", seed, "Of generated pictures and parameters", 0, 1000000000);
  return program.run(argc, argv, [&](support::Report& report) {
    report.begin(part);
    std::string name = data, text;
    if (data.empty())
      if (auto found = mt::train::output_of(fmt::format("gzip -dc {} 2>/dev/null", examples::installed_digits)))
        name = examples::installed_digits, text = std::move(*found);
    const bool real = !name.empty() && name != "generated";
    if (real && text.empty()) text = mt::io::read_file(name);
    const Digits all =
        real ? examples::parse_digits(text, name) : examples::generate_digits(count, static_cast<std::uint64_t>(seed), noise);
    if (all.labels.numel() < 100) throw support::Exit(1, fmt::format("{}: {} pictures are fewer than 100", name, all.labels.numel()));
    const std::int64_t learned = examples::learned_of(all.labels.numel());
    const Digits train = all.part(0, learned), others = all.part(learned, all.labels.numel());

    mt::manual_seed(static_cast<std::uint64_t>(seed));
    mt::nn::MLP<float, mt::nn::ReLU> model(64, hidden, 10);
    mt::optim::AdamW<float> adam(model, {.lr = lr});
    report.show("data", real ? name : fmt::format("generated, seed {}", seed));
    report.show("pictures", learned);
    report.show("parameters", mt::nn::parameter_count(model));
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      double sum = 0;
      for (std::int64_t first = 0; first < learned; first += batch) {
        const Digits some = train.part(first, (std::min)(first + batch, learned));
        const auto loss = mt::cross_entropy(model(some.pixels), some.labels);
        adam.zero_grad();
        loss.backward();
        adam.step();
        sum += static_cast<double>(loss.item()) * static_cast<double>(some.labels.numel());
      }
      if (epoch == 0) report.show("first_loss", sum / static_cast<double>(learned));
      if (epoch + 1 == epochs) report.show("last_loss", sum / static_cast<double>(learned));
    }
    const double reached = accuracy(model, others);
    report.show("training_accuracy", accuracy(model, train));
    report.show("accuracy", reached);
    report.check("good", reached >= 0.95);
    report.end();
  });
}
