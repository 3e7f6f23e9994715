// A GPT over a mesh of ranks, its optimizer and its precision, in given types: what float32.cpp and its like instantiate.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <examples/gpt/trainer.hpp>
#include <minitorch/parallel.hpp>

namespace examples {

namespace mp = minitorch::parallel;

template <mt::Scalar T, mt::Scalar C>
class ReaderOf final : public Reader {
 public:
  ReaderOf(const TrainSetup& setup, const mt::StateDict& state) : setup_(setup), model_(started(setup)) {
    if (state.size() > 0) mt::nn::load_state_dict(model_, state);
    mt::nn::eval(model_);
  }

  std::int64_t parameters() override { return mt::nn::parameter_count(model_); }
  double bits_per_character(std::int64_t windows, const mt::train::EvaluationShare& share) override {
    return mt::train::evaluate(model_, setup_.validation, model_.config.context, setup_.options.batch, windows, share);
  }
  std::string written(std::int64_t count) override {
    const auto& vocabulary = setup_.description.vocabulary;
    const auto prompt = vocabulary.encode(setup_.options.prompt);
    return vocabulary.decode(mt::train::sample(model_, {prompt.values().begin(), prompt.values().end()}, count,
                                               {.temperature = 0.8, .seed = static_cast<std::uint64_t>(setup_.options.seed)}));
  }
  mt::StateDict state() override { return mt::nn::state_dict(model_); }

 private:
  static mt::nn::GPT<T, C> started(const TrainSetup& setup) {
    mt::manual_seed(static_cast<std::uint64_t>(setup.options.seed));
    return mt::nn::GPT<T, C>(setup.description.config);
  }

  const TrainSetup& setup_;
  mt::nn::GPT<T, C> model_;
};

// The ranks are a grid: those that differ in "data" have the same part of the model and different parts of the batch, those that differ
// in "tensor" the other way round.
template <mt::Scalar T, mt::Scalar C>
class TrainerOf final : public Trainer {
 public:
  TrainerOf(const TrainSetup& setup, mt::Communicator& world)
      : setup_(setup),
        o_(setup.options),
        mesh_(world, {{"data", o_.dp}, {"tensor", o_.tp}}),
        slices_(mesh_["tensor"], o_.tensor_shards()),
        model_(started()),
        data_(model_, mp::Axis(mesh_["data"], o_.data_shards())),
        optimizer_(
            mt::optim::decay_groups<T>(model_, typename mt::optim::AdamW<T>::Options{.lr = o_.lr, .beta2 = 0.99, .weight_decay = 0.1})) {
    if (setup.optimizer.size() > 0) mp::load_whole_optimizer_state(optimizer_, model_, slices_, setup.optimizer);
    if constexpr (std::same_as<C, mt::half>) {
      scaler_.emplace(scaling(world));
      if (setup.scaler.size() > 0) scaler_->load_state_dict(setup.scaler);
    }
  }

  Step step(std::int64_t done, double lr) override {
    const double scale = scaler_ ? scaler_->scale() : 1;
    const auto batch = mt::train::random_batch(setup_.training, o_.batch, context(), static_cast<std::uint64_t>(o_.seed), done);
    optimizer_.set_lr(lr);
    optimizer_.zero_grad();
    const mp::Axis& samples = data_.axis();
    for (int local = 0; local < samples.local_shards(); ++local) {
      const auto [first, last] = mp::partition(o_.batch, samples.shards(), samples.shard(local));
      const mt::Scoped<&mt::ThreadState::batch> place({.first = first, .local = last - first, .total = o_.batch});
      mt::thread_state.next_stream = static_cast<std::uint64_t>(done + 1) << 20;  // random numbers belong to their step
      const auto mean = loss_of(batch.inputs.slice(first, last), batch.targets.slice(first, last));
      const double count = static_cast<double>((last - first) * context());
      data_.backward(mt::mul(mean, static_cast<mt::compute_t<C>>(count * scale)), count, local + 1 == samples.local_shards());
    }
    const double loss = data_.finish().mean() / scale;
    if (scaler_) scaler_->unscale_(optimizer_);
    const double norm = mp::clip_grad_norm_(model_, slices_, 1);
    bool taken = true;
    if (scaler_) {
      taken = scaler_->step(optimizer_);
      scaler_->update();
    } else {
      optimizer_.step();
    }
    return {loss, norm, taken};
  }

  std::int64_t saved_bytes() const override { return saved_bytes_; }

  std::unique_ptr<Reader> reader() override { return std::make_unique<ReaderOf<T, C>>(setup_, mp::whole_state_dict(model_, slices_)); }

  mt::train::RunDirectory::Files files() override {
    const auto description = mt::train::describe(model_.config, setup_.description.vocabulary);
    mt::train::RunDirectory::Files all{{"model.safetensors", {mp::whole_state_dict(model_, slices_), description}},
                                       {"optimizer.safetensors", {mp::whole_optimizer_state(optimizer_, model_, slices_), o_.saved()}}};
    if (scaler_) all.push_back({"scaler.safetensors", {scaler_->state_dict(), {}}});
    return all;
  }

 private:
  std::int64_t context() const { return model_.config.context; }

  mt::Tensor<mt::compute_t<C>> loss_of(const mt::Tensor<std::int64_t>& inputs, const mt::Tensor<std::int64_t>& targets) {
    if (saved_bytes_ >= 0) return model_.loss(inputs, targets).local();
    const mt::SavedMeter meter;
    const auto loss = model_.loss(inputs, targets).local();
    const auto parameters = mt::nn::parameters<T>(model_);
    saved_bytes_ = meter.bytes(std::vector<mt::AnyTensor>(parameters.begin(), parameters.end()));
    return loss;
  }

  mp::ParallelGPT<T, C> started() {
    mt::manual_seed(static_cast<std::uint64_t>(o_.seed));
    auto config = setup_.description.config;
    config.recompute = o_.recomputed();
    mp::ParallelGPT<T, C> model(slices_, config, {.sequence_parallel = o_.sequence_parallel});
    if (setup_.model.size() > 0) mp::load_whole_state_dict(model, slices_, setup_.model);
    return model;
  }

  // The loss is a sum over the batch: the scale of a mean, divided by its size, so that gradients inside the model are as large.
  mt::optim::GradScalerOptions scaling(mt::Communicator& world) const {
    const auto tokens = std::bit_ceil(static_cast<std::uint64_t>(o_.batch * context()));
    return {.scale = 65536.0 / static_cast<double>(tokens), .any = [&world](bool found) {
              std::vector<std::int32_t> flag{found ? 1 : 0};
              world.all_reduce(flag, mt::Reduction::max);
              return flag[0] != 0;
            }};
  }

  const TrainSetup& setup_;
  const TrainOptions& o_;
  mt::Mesh mesh_;
  mp::Axis slices_;
  mp::ParallelGPT<T, C> model_;
  mp::DataParallel<T> data_;
  mt::optim::AdamW<T> optimizer_;
  std::optional<mt::optim::GradScaler> scaler_;
  std::int64_t saved_bytes_ = -1;
};

template <mt::Scalar T, mt::Scalar C>
std::unique_ptr<Reader> make_reader_of(const TrainSetup& setup, const mt::StateDict& model) {
  return std::make_unique<ReaderOf<T, C>>(setup, model);
}
template <mt::Scalar T, mt::Scalar C>
std::unique_ptr<Trainer> make_trainer_of(const TrainSetup& setup, mt::Communicator& world) {
  return std::make_unique<TrainerOf<T, C>>(setup, world);
}

}  // namespace examples
