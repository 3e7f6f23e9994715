// Steps, validations, samples and saves of a run.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <examples/gpt/loop.hpp>
#include <examples/support/measure.hpp>
#include <examples/support/output.hpp>
#include <minitorch/io/log.hpp>
#include <minitorch/optim/schedule.hpp>

namespace examples {

void tell(const std::string& line, bool json) {
  if (json)
    fmt::print(stderr, "{}", line);
  else
    support::print_out(line);
}

namespace {

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

class Loop {
 public:
  Loop(const TrainSetup& setup, mt::Communicator& world, const mt::train::StopSignals& signals, bool json)
      : setup_(setup),
        o_(setup.options),
        world_(world),
        signals_(signals),
        json_(json),
        first_rank_(world.rank() == 0),
        progress_(setup.from, o_.steps, first_rank_ && !o_.no_progress),
        trainer_(make_trainer(setup, world)) {
    if (first_rank_)
      log_.emplace(setup.directory->path() / "metrics.csv", std::vector<std::string>{"step", "loss", "lr", "gradient_norm", "validation"},
                   setup.from > 0 ? setup.from : -1);
  }

  Outcome run() {
    const std::int64_t warm_up = (std::min<std::int64_t>)(100, o_.steps / 10), context = setup_.description.config.context;
    const auto schedule = mt::optim::warm_up(warm_up, mt::optim::cosine(o_.lr, o_.steps - warm_up, o_.lr / 10));
    const std::int64_t resident = support::peak_resident_bytes();
    std::vector<double> seconds;
    for (out_.step = setup_.from; out_.step < o_.steps && !out_.paused;) {
      const double lr = schedule(out_.step);
      const support::Stopwatch watch;
      const Trainer::Step step = trainer_->step(out_.step, lr);
      seconds.push_back(watch.seconds());
      check(step, lr);
      ++out_.step;
      out_.skipped += step.taken ? 0 : 1;
      out_.last_loss = step.loss;
      if (out_.step == setup_.from + 1) out_.first_loss = smooth_ = step.loss;
      smooth_ = 0.95 * smooth_ + 0.05 * step.loss;
      out_.tokens_per_second = static_cast<double>((out_.step - setup_.from) * o_.batch * context) / progress_.seconds();
      progress_.update(out_.step, fmt::format("loss {:.3f}, {:.3f} bits/char, {:.1f}k tok/s", smooth_,
                                              mt::train::bits_per_character(smooth_), out_.tokens_per_second / 1e3));
      const bool over = agree();
      const bool look = out_.step % o_.eval_every == 0 || out_.step == o_.steps || over;
      out_.paused = out_.signal != 0 || (out_.step == o_.pause && out_.step < o_.steps);
      if (look)
        validate(step, lr, over);
      else if (log_)
        log_->row(out_.step, {step.loss, lr, step.gradient_norm, std::nan("")});
      if (look || out_.paused) save();
      if (over) break;
    }
    std::ranges::sort(seconds);
    out_.step_seconds = seconds[seconds.size() / 2];
    out_.saved_bytes = trainer_->saved_bytes();
    out_.peak_bytes = mt::peak_bytes();
    out_.resident_bytes = support::peak_resident_bytes() - resident;
    out_.operations_again = static_cast<std::int64_t>(mt::autograd_state.recomputed);
    return out_;
  }

 private:
  // A step in half precision that is not taken is no error: its scale was too large.
  void check(const Trainer::Step& step, double lr) const {
    if (std::isfinite(step.loss) && (std::isfinite(step.gradient_norm) || !step.taken)) return;
    const auto steps = setup_.directory->steps();
    mt::fail<mt::Error>("step ", out_.step + 1, ": the loss is ", step.loss, " and the norm of the gradients ", step.gradient_norm,
                        "; saved until step ", steps.empty() ? 0 : steps.back(), " in ", setup_.directory->path().string(),
                        "; try a smaller learning rate than ", lr);
  }

  // All ranks leave at the same step: on the signal of any, or when rank 0 says that the time is over.
  bool agree() {
    const bool late = first_rank_ && o_.seconds > 0 && progress_.seconds() > o_.seconds;
    std::vector<std::int32_t> flags{signals_.received(), late ? 1 : 0};
    world_.all_reduce(flags, mt::Reduction::max);
    out_.signal = flags[0];
    return flags[1] != 0;
  }

  void validate(const Trainer::Step& step, double lr, bool last) {
    const auto reader = trainer_->reader();
    const mt::train::EvaluationShare share{world_.rank(), world_.size(), [this](std::vector<double>& sums) { world_.all_reduce(sums); }};
    const double bits = reader->bits_per_character(64, share);
    if (!first_rank_) return;
    log_->row(out_.step, {step.loss, lr, step.gradient_norm, bits});
    progress_.clear();
    tell(fmt::format("step={} loss={:.4f} bits_per_char={:.4f} validation_bits_per_char={:.4f} lr={:.2e} tokens_per_second={:.0f}\n",
                     out_.step, smooth_, mt::train::bits_per_character(smooth_), bits, lr, out_.tokens_per_second),
         json_);
    if (out_.step < o_.steps && !last) tell(fmt::format("  sample: {}\n", one_line(reader->written(60))), json_);
  }

  void save() {
    const auto files = trainer_->files();
    if (first_rank_) setup_.directory->save(out_.step, files);
  }

  const TrainSetup& setup_;
  const TrainOptions& o_;
  mt::Communicator& world_;
  const mt::train::StopSignals& signals_;
  bool json_, first_rank_;
  mt::train::Progress progress_;
  std::unique_ptr<Trainer> trainer_;
  std::optional<mt::io::MetricsLog> log_;
  Outcome out_{};
  double smooth_ = 0;
};

}  // namespace

Outcome train_rank(const TrainSetup& setup, mt::Communicator& world, const mt::train::StopSignals& signals, bool json) {
  return Loop(setup, world, signals, json).run();
}

}  // namespace examples
