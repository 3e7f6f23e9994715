// Runs of train_gpt: opened or continued, launched, and finished by an evaluation of what was saved.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <examples/gpt/loop.hpp>
#include <examples/gpt/run.hpp>
#include <minitorch/comm/launch.hpp>
#include <minitorch/comm/self.hpp>

namespace examples {

const support::Part train_part{"run",
                               "The run",
                               {{"text", "trained on"},
                                {"parameters", "numbers in the model"},
                                {"ranks", "processes, data x tensor parallel"},
                                {"steps", "training steps done"},
                                {"skipped_steps", "steps not taken because a half had overflown"},
                                {"first_loss", "loss of the first step here, in nats"},
                                {"last_loss", "loss of the last step, in nats"},
                                {"validation", "bits per character of the validation text"},
                                {"tokens_per_second", "characters trained on a second"},
                                {"step_seconds", "seconds of a step, the median"},
                                {"saved_bytes", "what a rank's forward pass keeps for backward, beside parameters"},
                                {"peak_bytes", "most bytes in tensors at one time, of a rank"},
                                {"resident_bytes", "growth of a rank's resident memory in training"},
                                {"operations_again", "operations that backward passes ran again"},
                                {"sample", "what the model writes"},
                                {"out", "where it is saved"}}};

namespace {

using support::Exit;

// Where the run lives: what --out says, or the first free runs/gpt-N.
std::string place_of(const TrainOptions& o) {
  if (!o.out.empty()) return o.out;
  if (o.resume) throw Exit(2, "--resume needs --out, the directory of the run");
  for (int n = 1;; ++n)
    if (std::string path = fmt::format("runs/gpt-{}", n); !std::filesystem::exists(path)) return path;
}

// The step that the run in the directory continues from; 0 for a new one.
std::int64_t newest(const TrainOptions& o, const mt::train::RunDirectory& directory) {
  const auto steps = directory.steps();
  if (o.resume && steps.empty()) throw Exit(1, fmt::format("--out {}: holds no checkpoint to resume", o.out));
  if (!o.resume && (!steps.empty() || std::filesystem::exists(directory.path() / "model.safetensors")))
    throw Exit(1, fmt::format("--out {}: already holds a run; continue it with --resume or choose another", o.out));
  return o.resume ? steps.back() : 0;
}

TrainSetup prepare(TrainOptions o, bool keep_steps) {
  o.out = place_of(o);
  if (o.resume && !std::filesystem::exists(o.out)) throw Exit(1, fmt::format("--out {}: there is no such run to resume", o.out));
  const bool writes = o.resume || o.steps > 0;
  std::optional<mt::train::RunDirectory> directory;
  std::int64_t from = 0;
  mt::io::Safetensors model, optimizer, scaler;
  if (std::filesystem::exists(o.out) && writes) {
    directory.emplace(o.out);
    from = newest(o, *directory);
  }
  if (o.resume) {
    const std::filesystem::path checkpoint = directory->checkpoint(from);
    optimizer = mt::io::load_safetensors(checkpoint / "optimizer.safetensors");
    o.restore(optimizer.metadata, keep_steps);
    if (std::filesystem::exists(checkpoint / "scaler.safetensors")) scaler = mt::io::load_safetensors(checkpoint / "scaler.safetensors");
    o.model = (checkpoint / "model.safetensors").string();
  }
  mt::train::Corpus corpus = mt::train::load_corpus(o.text, static_cast<std::uint64_t>(o.seed));
  auto description = [&]() -> mt::train::Description {
    if (!o.model.empty()) {
      model = mt::io::load_safetensors(o.model);
      return mt::train::read_description(model.metadata, o.model);
    }
    mt::train::Vocabulary vocabulary({corpus.training, corpus.validation});
    return {{vocabulary.size(), o.context, o.layers, o.dim, o.heads, 0, 0, o.dropout}, std::move(vocabulary)};
  }();
  o.settle(description.config);
  if (o.prompt.empty()) o.prompt = corpus.training.find('\n') != std::string::npos ? "\n" : corpus.training.substr(0, 1);
  try {
    description.vocabulary.encode(o.prompt);
  } catch (const mt::ArgumentError& error) {  // now rather than after the training
    throw Exit(1, fmt::format("--prompt: {}", error.what()));
  }
  const auto training = description.vocabulary.encode(corpus.training), validation = description.vocabulary.encode(corpus.validation);
  if (training.numel() <= description.config.context || validation.numel() <= description.config.context)
    mt::fail<mt::ArgumentError>("text: parts of ", training.numel(), " and ", validation.numel(),
                                " characters are too short for a context of ", description.config.context, " and the next one");
  if (writes && !directory) directory.emplace(o.out);
  return {std::move(o),
          std::move(directory),
          from,
          std::move(corpus.name),
          std::move(description),
          training,
          validation,
          std::move(model.tensors),
          std::move(optimizer.tensors),
          std::move(scaler.tensors)};
}

// Throws Exit for a run that is to be continued.
Outcome trained(const TrainSetup& setup, bool json) {
  const TrainOptions& o = setup.options;
  const mt::train::StopSignals signals;
  const auto saved = [&](std::int64_t step) { return fmt::format("step {} of {}; saved, continue with {}", step, o.steps, o.continued()); };
  Outcome outcome{};
  try {
    if (o.ranks == 1) {
      mt::SelfCommunicator alone;
      outcome = train_rank(setup, alone, signals, json);
    } else {
      for (const Outcome& rank : mt::launch(o.ranks, [&](mt::Communicator& world) { return train_rank(setup, world, signals, json); })) {
        if (outcome.step == 0) outcome = rank;
        for (const auto most : {&Outcome::saved_bytes, &Outcome::peak_bytes, &Outcome::resident_bytes})
          outcome.*most = std::max(outcome.*most, rank.*most);
      }
    }
  } catch (const mt::PeerLost& lost) {
    const auto steps = setup.directory->steps();
    throw Exit(1, fmt::format("{}; {}", lost.what(), steps.empty() ? "nothing was saved yet" : saved(steps.back())));
  }
  if (outcome.paused) throw Exit(outcome.signal == 0 ? 0 : 128 + outcome.signal, saved(outcome.step));
  return outcome;
}

}  // namespace

void train_gpt(support::Report& report, TrainOptions options, const RunWishes& wishes) {
  TrainSetup setup = prepare(std::move(options), wishes.keep_steps);
  const TrainOptions& o = setup.options;
  const mt::nn::GPTConfig& config = setup.description.config;
  tell(fmt::format("text: {}, {} characters to train on, {} to validate, {} different\nmodel: {} layers of width {}, {} heads, context {}, "
                   "{} parameters ({}); a uniform guess is {:.2f} bits per character\n",
                   setup.text, setup.training.numel(), setup.validation.numel(), config.vocabulary, config.layers, config.dim, config.heads,
                   config.context, make_reader(setup, {})->parameters(), o.dtype, std::log2(static_cast<double>(config.vocabulary))),
       wishes.json);
  if (o.ranks > 1) tell(fmt::format("ranks: {}, {} data x {} tensor parallel\n", o.ranks, o.dp, o.tp), wishes.json);

  std::optional<Outcome> outcome;
  if (o.steps > setup.from) {
    outcome = trained(setup, wishes.json);
    setup.model = mt::io::load_safetensors(setup.directory->checkpoint(outcome->step) / "model.safetensors").tensors;
  }
  const auto reader = make_reader(setup, setup.model);
  const std::int64_t steps = outcome ? outcome->step : setup.from;
  report.begin(train_part);
  report.show("text", setup.text);
  report.show("parameters", reader->parameters());
  report.show("ranks", fmt::format("{} = {} x {}", o.ranks, o.dp, o.tp));
  report.show("steps", steps);
  if (outcome) {
    report.show("skipped_steps", outcome->skipped);
    report.show("first_loss", outcome->first_loss);
    report.show("last_loss", outcome->last_loss);
    report.show("tokens_per_second", std::round(outcome->tokens_per_second));
    report.show("step_seconds", outcome->step_seconds);
    report.show("saved_bytes", outcome->saved_bytes);
    report.show("peak_bytes", outcome->peak_bytes);
    report.show("resident_bytes", outcome->resident_bytes);
    report.show("operations_again", outcome->operations_again);
  }
  report.show("validation", reader->bits_per_character((std::max<std::int64_t>)(64, 100000 / config.context)));
  if (o.sample > 0) report.show("sample", o.prompt + reader->written(o.sample));
  if (!wishes.keep) {
    std::filesystem::remove_all(o.out);
  } else if (steps > 0) {
    const auto file = setup.directory->path() / "model.safetensors";
    mt::io::save_safetensors(file, reader->state(), mt::train::describe(config, setup.description.vocabulary));
    report.show("out", file.string());
  }
  report.end();
}

}  // namespace examples
