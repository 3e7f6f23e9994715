// A whole GPT over ranks: trained whole, then read by 1, 2 and 4 ranks, with the communication counted.
// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <examples/parts/tensor_parallel.hpp>
#include <examples/parts/tensor_parallel_gpt.hpp>

namespace examples {

const support::Part tensor_parallel_gpt_part{"tensor_parallel_gpt",
                                             "A GPT over t ranks (float, 2 layers, d = 64, 4 heads, context 96)",
                                             {{"untrained_bits", "bits per character before training"},
                                              {"whole_bits", "bits per character of the whole model, after training"},
                                              {"characters", "validation characters"},
                                              {"ranks_1", "bits per character over 1 rank, difference"},
                                              {"ranks_2", "over 2 ranks, difference"},
                                              {"ranks_4", "over 4 ranks, difference"},
                                              {"all_reduces", "all-reduces of one sequence forward, t = 2"},
                                              {"all_reduce_bytes", "bytes of each"},
                                              {"vocabulary_all_reduces", "with table, head and loss split by symbols"}}};

void GPTOptions::flags(support::Program& program) { program.flag("--steps", steps, "Training steps of 16 sequences", 0, 100000); }

namespace {

constexpr std::int64_t gpt_context = 96;

// Mean cross entropy / ln 2 over consecutive windows; logits_of(tokens [1, context]) is any model.
template <class Logits>
double bits_per_character(const mt::Tensor<std::int64_t>& text, Logits logits_of) {
  const mt::NoGrad forward_alone;
  double nats = 0;
  const std::int64_t windows = (text.numel() - 1) / gpt_context;
  for (std::int64_t w = 0; w < windows; ++w) {
    const auto batch = mt::train::windows(text, 1, gpt_context, [&](std::int64_t) { return w * gpt_context; });
    const auto losses = mt::cross_entropy(logits_of(batch.inputs), batch.targets, {.reduction = mt::LossReduction::none});
    for (float loss : losses.values()) nats += static_cast<double>(loss);
  }
  return nats / static_cast<double>(windows * gpt_context) / std::log(2.0);
}

struct GPTCounts {
  double bits, calls, bytes, vocabulary_calls;
};

// The model's state over `ranks` ranks.
std::vector<GPTCounts> read_by_ranks(int ranks, mt::nn::GPT<float>& whole, const mt::Tensor<std::int64_t>& text) {
  return mt::launch(ranks, [&](mt::Communicator& comm) {
    const mp::Axis axis(comm);
    mp::ParallelGPT<float> split(axis, whole.config);
    mp::load_whole_state_dict(split, axis, mt::nn::state_dict(whole));
    const auto counter = [&] { return comm.counters()[mt::comm::Verb::all_reduce]; };
    const mt::Tensor<std::int64_t> one = text.slice(0, gpt_context).reshape({1, gpt_context}), next = text.slice(1, gpt_context + 1);
    const auto before = counter();
    mt::no_grad([&] { split.logits(one); });
    const auto after = counter();
    mp::ParallelGPT<float> by_symbols(axis, whole.config, {.sequence_parallel = false, .vocab_parallel = true});
    const auto start = counter();
    mt::no_grad([&] { by_symbols.loss(one, next.reshape({1, gpt_context})); });
    const double vocabulary_calls = static_cast<double>(counter().calls - start.calls);
    const double calls = static_cast<double>(after.calls - before.calls);
    return GPTCounts{bits_per_character(text, [&](const auto& tokens) { return split.logits(tokens); }), calls,
                     calls > 0 ? static_cast<double>(after.bytes - before.bytes) / calls : 0, vocabulary_calls};
  });
}

}  // namespace

void tensor_parallel_gpt(support::Report& report, const GPTOptions& options) {
  const mt::train::World world = mt::train::make_world(1);
  const mt::train::Vocabulary vocabulary({world.training, world.validation});
  const auto training = vocabulary.encode(world.training), validation = vocabulary.encode(world.validation);
  mt::manual_seed(model_seed);
  mt::nn::GPT<float> model({.vocabulary = vocabulary.size(), .context = gpt_context, .layers = 2, .dim = 64, .heads = 4});
  const auto whole_bits = [&] { return bits_per_character(validation, [&](const auto& tokens) { return model(tokens); }); };

  report.begin(tensor_parallel_gpt_part);
  report.show("untrained_bits", whole_bits());
  mt::optim::AdamW<float> adam(model, {.lr = 3e-3});
  for (int step = 0; step < options.steps; ++step) {
    const auto batch = mt::train::random_batch(training, 16, gpt_context, model_seed, step);
    const auto loss = mt::nn::gpt_loss(model, batch.inputs, batch.targets);
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  const double whole = whole_bits();
  report.show("whole_bits", whole);
  report.show("characters", static_cast<double>(validation.numel()));
  GPTCounts two{};
  for (int ranks : {1, 2, 4}) {
    double difference = 0;
    for (const GPTCounts& rank : read_by_ranks(ranks, model, validation)) {
      difference = std::max(difference, std::abs(rank.bits - whole));
      if (ranks == 2) two = rank;
    }
    report.at_most("ranks_" + std::to_string(ranks), difference, 1e-8);
  }
  report.check("all_reduces", two.calls, 4.0);
  report.check("all_reduce_bytes", two.bytes, 24576.0);
  report.check("vocabulary_all_reduces", two.vocabulary_calls, 8.0);
  report.say(
      "Two all-reduces a layer, each of batch x sequence x width floats. A vocabulary that is split adds 1 for the table and 3 for the "
      "loss.");
}

}  // namespace examples
