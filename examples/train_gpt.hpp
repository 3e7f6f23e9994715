// A run of train_gpt: its flags, its state on disk, and the loop.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <examples/support/output.hpp>
#include <examples/support/program.hpp>
#include <minitorch/minitorch.hpp>

namespace examples {

namespace mt = minitorch;

struct TrainOptions {
  std::string text, dtype = "float32", recompute = "none", out, model, prompt = "\n";
  std::int64_t layers = 4, dim = 128, heads = 4, context = 128, batch = 16, steps = 1000, eval_every = 200, sample = 400, pause = 0;
  std::int64_t seed = 1;
  double lr = 3e-3, dropout = 0;
  bool resume = false, no_progress = false;

  void flags(support::Program& program) {
    program.flag("--text", text, "A file, or 'world' for generated facts; else the King James Bible or the system's licence texts");
    program.flag("--layers", layers, "Transformer blocks", 1, 1000);
    program.flag("--dim", dim, "Width of the residual stream", 1, 100000);
    program.flag("--heads", heads, "Attention heads; they must divide the width", 1, 1000);
    program.flag("--context", context, "Characters that the model sees", 1, 100000);
    program.flag("--batch", batch, "Sequences a step", 1, 100000);
    program.flag("--steps", steps, "Training steps in all; 0 evaluates and samples", 0, 1000000000);
    program.flag("--lr", lr, "Largest learning rate: linear warm-up, then a cosine down to a tenth", 0.0, 1e30);
    program.flag("--dropout", dropout, "Share of activations dropped in training", 0.0, 0.99);
    program.flag("--dtype", dtype, "Scalar type of parameters and computation", {"float64", "float32"});
    program.flag("--recompute", recompute, "What the backward pass computes again: to the same bits, in less memory",
                 {"none", "full", "products"});
    program.flag("--seed", seed, "Of parameters, batches, dropout and samples", 0, 1000000000);
    program.flag("--out", out, "Directory of the run; a new one under runs/ by default");
    program.flag("--resume", resume, "Continue the run in --out; its other flags come from there, --steps may be given anew");
    program.flag("--model", model, "A saved model.safetensors to start from: to train on, to evaluate or to sample");
    program.flag("--eval-every", eval_every, "Steps between validations, samples and saves", 1, 1000000000);
    program.flag("--pause", pause, "Save and leave after this step, to be resumed; 0 never", 0, 1000000000);
    program.flag("--sample", sample, "Characters of the sample at the end", 0, 1000000);
    program.flag("--prompt", prompt, "What samples start from");
    program.flag("--no-progress", no_progress, "No bar, also on a terminal");
  }

  // What a resumed run must have in common with the one before.
  mt::io::Metadata saved() const {
    return {{"text", text},         {"batch", mt::concat(batch)}, {"steps", mt::concat(steps)},
            {"lr", mt::concat(lr)}, {"seed", mt::concat(seed)},   {"eval_every", mt::concat(eval_every)},
            {"dtype", dtype}};
  }
  void restore(mt::io::Metadata saved, bool keep_steps) {
    const auto number = [&](const char* key, auto& value) {
      const std::string& digits = saved[key];
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
    };
    text = saved["text"];
    dtype = saved["dtype"];
    number("batch", batch);
    number("lr", lr);
    number("seed", seed);
    number("eval_every", eval_every);
    if (!keep_steps) number("steps", steps);
  }
};

inline const support::Part train_part{"run",
                                      "The run",
                                      {{"text", "trained on"},
                                       {"parameters", "numbers in the model"},
                                       {"steps", "training steps done"},
                                       {"first_loss", "loss of the first step here, in nats"},
                                       {"last_loss", "loss of the last step, in nats"},
                                       {"validation", "bits per character of the validation text"},
                                       {"tokens_per_second", "characters trained on a second"},
                                       {"peak_bytes", "most bytes in tensors at one time"},
                                       {"operations_again", "operations that backward passes ran again"},
                                       {"sample", "what the model writes"},
                                       {"out", "where it is saved"}}};

// The state of a run on disk: OUT/checkpoint-N with model, optimizer and flags; OUT/metrics.csv; OUT/model.safetensors at the end.
template <mt::Scalar T>
class TrainingRun {
 public:
  TrainingRun(TrainOptions options, bool json, support::Report& report, std::optional<mt::train::RunDirectory> directory, std::int64_t from)
      : o_(std::move(options)),
        json_(json),
        report_(report),
        directory_(std::move(directory)),
        step_(from),
        corpus_(corpus()),
        start_(start()),
        model_(initialised()),
        training_(start_.vocabulary.encode(corpus_.training)),
        validation_(start_.vocabulary.encode(corpus_.validation)),
        optimizer_(
            mt::optim::decay_groups<T>(model_, typename mt::optim::AdamW<T>::Options{.lr = o_.lr, .beta2 = 0.99, .weight_decay = 0.1})) {
    if (step_ > 0) optimizer_.load_state_dict(mt::io::load_safetensors(directory_->checkpoint(step_) / "optimizer.safetensors").tensors);
    if (training_.numel() <= start_.config.context || validation_.numel() <= start_.config.context)
      mt::fail<mt::ArgumentError>("text: parts of ", training_.numel(), " and ", validation_.numel(),
                                  " characters are too short for a context of ", start_.config.context, " and the next one");
  }

  void operator()() {
    say(
        fmt::format("text: {}, {} characters to train on, {} to validate, {} different\nmodel: {} layers of width {}, {} heads, context "
                    "{}, {} parameters "
                    "({}); a uniform guess is {:.2f} bits per character\n",
                    corpus_.name, training_.numel(), validation_.numel(), start_.vocabulary.size(), start_.config.layers, start_.config.dim,
                    start_.config.heads, start_.config.context, mt::nn::parameter_count(model_), o_.dtype,
                    std::log2(static_cast<double>(start_.vocabulary.size()))));
    if (o_.steps > step_) train();
    finish();
  }

 private:
  mt::train::Corpus corpus() const { return mt::train::load_corpus(o_.text, static_cast<std::uint64_t>(o_.seed)); }

  std::filesystem::path start_file() const {
    return step_ > 0 ? directory_->checkpoint(step_) / "model.safetensors" : std::filesystem::path(o_.model);
  }

  mt::train::Description start() {
    if (const auto file = start_file(); !file.empty()) {
      loaded_ = mt::io::load_safetensors(file);
      return mt::train::read_description(loaded_->metadata, file.string());
    }
    mt::train::Vocabulary vocabulary({corpus_.training, corpus_.validation});
    return {{vocabulary.size(), o_.context, o_.layers, o_.dim, o_.heads, 0, 0, o_.dropout}, std::move(vocabulary)};
  }

  mt::nn::GPT<T> initialised() {
    mt::manual_seed(static_cast<std::uint64_t>(o_.seed));
    mt::nn::GPT<T> model(start_.config);
    model.config.recompute = o_.recompute == "full"       ? mt::Recompute::full
                             : o_.recompute == "products" ? mt::Recompute::products
                                                          : mt::Recompute::none;
    if (loaded_) mt::nn::load_state_dict(model, std::exchange(loaded_, {})->tensors);
    return model;
  }

  void train() {
    const mt::train::StopSignals signals;
    mt::io::MetricsLog log(directory_->path() / "metrics.csv", {"step", "loss", "lr", "gradient_norm", "validation"},
                           step_ > 0 ? step_ : -1);
    mt::train::Progress progress(step_, o_.steps, !o_.no_progress);
    const std::int64_t warm_up = (std::min<std::int64_t>)(100, o_.steps / 10), context = start_.config.context;
    const auto schedule = mt::optim::warm_up(warm_up, mt::optim::cosine(o_.lr, o_.steps - warm_up, o_.lr / 10));
    const auto parameters = optimizer_.parameters();
    double smooth = 0;
    for (const std::int64_t first = step_; step_ < o_.steps;) {
      mt::thread_state.next_stream = static_cast<std::uint64_t>(step_ + 1) << 20;  // random numbers belong to their step
      const auto batch = mt::train::random_batch(training_, o_.batch, context, static_cast<std::uint64_t>(o_.seed), step_);
      optimizer_.set_lr(schedule(step_));
      optimizer_.zero_grad();
      const auto loss = mt::nn::gpt_loss(model_, batch.inputs, batch.targets);
      loss.backward();
      const double norm = mt::optim::clip_grad_norm_(parameters, 1);
      last_ = static_cast<double>(loss.item());
      if (!std::isfinite(last_) || !std::isfinite(norm))
        mt::fail<mt::Error>("step ", step_ + 1, ": the loss is ", last_, " and the norm of the gradients ", norm, "; saved until step ",
                            saved_step(), " in ", directory_->path().string(), "; try a smaller --lr than ", o_.lr);
      optimizer_.step();
      ++step_;
      if (step_ == first + 1) first_ = smooth = last_;
      smooth = 0.95 * smooth + 0.05 * last_;
      rate_ = static_cast<double>((step_ - first) * o_.batch * context) / progress.seconds();
      progress.update(
          step_, fmt::format("loss {:.3f}, {:.3f} bits/char, {:.1f}k tok/s", smooth, mt::train::bits_per_character(smooth), rate_ / 1e3));

      const int signal = signals.received();
      const bool look = step_ % o_.eval_every == 0 || step_ == o_.steps, leave = signal != 0 || (step_ == o_.pause && step_ < o_.steps);
      const double validated = look ? evaluate(64) : std::nan("");
      log.row(step_, {last_, schedule(step_ - 1), norm, validated});
      if (look || leave) save();
      if (look) {
        progress.clear();
        say(fmt::format("step={} loss={:.4f} bits_per_char={:.4f} validation_bits_per_char={:.4f} lr={:.2e} tokens_per_second={:.0f}\n",
                        step_, smooth, mt::train::bits_per_character(smooth), validated, schedule(step_ - 1), rate_));
        if (step_ < o_.steps) say(fmt::format("  sample: {}\n", one_line(written(60))));
      }
      if (leave) {
        progress.clear();
        const std::string where =
            fmt::format("step {} of {}; saved, continue with --out {} --resume", step_, o_.steps, directory_->path().string());
        throw support::Exit(signal == 0 ? 0 : 128 + signal, where);
      }
    }
  }

  void finish() {
    report_.begin(train_part);
    report_.show("text", corpus_.name);
    report_.show("parameters", mt::nn::parameter_count(model_));
    report_.show("steps", step_);
    if (rate_ > 0) {
      report_.show("first_loss", first_);
      report_.show("last_loss", last_);
      report_.show("tokens_per_second", std::round(rate_));
      report_.show("peak_bytes", mt::peak_bytes());
      report_.show("operations_again", static_cast<std::int64_t>(mt::autograd_state.recomputed));
    }
    report_.show("validation", evaluate((std::max<std::int64_t>)(64, 100000 / start_.config.context)));
    if (o_.sample > 0) report_.show("sample", o_.prompt + written(o_.sample));
    if (directory_ && step_ > 0) {
      const auto file = directory_->path() / "model.safetensors";
      mt::io::save_safetensors(file, mt::nn::state_dict(model_), mt::train::describe(start_.config, start_.vocabulary));
      report_.show("out", file.string());
    }
    report_.end();
  }

  double evaluate(std::int64_t windows) {
    mt::nn::eval(model_);
    const double bits = mt::train::evaluate(model_, validation_, start_.config.context, o_.batch, windows);
    mt::nn::train(model_);
    return bits;
  }

  std::string written(std::int64_t count) {
    mt::nn::eval(model_);
    const auto prompt = start_.vocabulary.encode(o_.prompt);
    const auto tokens = mt::train::sample(model_, {prompt.values().begin(), prompt.values().end()}, count,
                                          {.temperature = 0.8, .seed = static_cast<std::uint64_t>(o_.seed)});
    mt::nn::train(model_);
    return start_.vocabulary.decode(tokens);
  }

  void save() {
    auto metadata = mt::train::describe(start_.config, start_.vocabulary);
    directory_->save(step_, {{"model.safetensors", {mt::nn::state_dict(model_), metadata}},
                             {"optimizer.safetensors", {optimizer_.state_dict(), o_.saved()}}});
  }
  std::int64_t saved_step() const {
    const auto steps = directory_->steps();
    return steps.empty() ? 0 : steps.back();
  }

  static std::string one_line(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    return text;
  }
  // Lines for people and grep: on stdout, or on stderr when stdout is one JSON object.
  void say(const std::string& line) const {
    if (json_)
      fmt::print(stderr, "{}", line);
    else
      support::print_out(line);
  }

  TrainOptions o_;
  bool json_;
  support::Report& report_;
  std::optional<mt::train::RunDirectory> directory_;
  std::int64_t step_;
  std::optional<mt::io::Safetensors> loaded_;
  mt::train::Corpus corpus_;
  mt::train::Description start_;
  mt::nn::GPT<T> model_;
  mt::Tensor<std::int64_t> training_, validation_;
  mt::optim::AdamW<T> optimizer_;
  double first_ = 0, last_ = 0, rate_ = 0;
};

}  // namespace examples
