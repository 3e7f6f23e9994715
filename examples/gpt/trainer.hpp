// Training and reading a GPT, whatever its scalar type: each type is instantiated in a file of its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <examples/gpt/options.hpp>
#include <minitorch/comm/communicator.hpp>
#include <minitorch/train/train.hpp>

namespace examples {

// What a run starts from, made before there are ranks; they see it as it is.
struct TrainSetup {
  TrainOptions options;
  std::optional<mt::train::RunDirectory> directory;  // none when there is nothing to train
  std::int64_t from;                                 // steps done before
  std::string text;                                  // what it is, for people
  mt::train::Description description;
  mt::Tensor<std::int64_t> training, validation;
  mt::StateDict model, optimizer, scaler;  // empty for a new run
};

// A whole model in use.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual std::int64_t parameters() = 0;
  virtual double bits_per_character(std::int64_t windows, const mt::train::EvaluationShare& share = {}) = 0;
  // `count` characters that follow the prompt.
  virtual std::string written(std::int64_t count) = 0;
  virtual mt::StateDict state() = 0;
};

// A rank's part of a model in training. Everything is called by all ranks.
class Trainer {
 public:
  struct Step {
    double loss, gradient_norm;
    bool taken;  // not when a gradient in half precision has overflown
  };
  virtual ~Trainer() = default;
  virtual Step step(std::int64_t done, double lr) = 0;
  // What the first forward pass has kept for its backward pass, beside parameters.
  virtual std::int64_t saved_bytes() const = 0;
  virtual std::unique_ptr<Reader> reader() = 0;
  // The files of a checkpoint: whole, so that any number of ranks can continue.
  virtual mt::train::RunDirectory::Files files() = 0;
};

// In the type of --dtype. The model of the reader is that of the setup, or a new one.
std::unique_ptr<Reader> make_reader(const TrainSetup& setup, const mt::StateDict& model);
std::unique_ptr<Trainer> make_trainer(const TrainSetup& setup, mt::Communicator& world);

// Parameters of T, products in C.
template <mt::Scalar T, mt::Scalar C>
std::unique_ptr<Reader> make_reader_of(const TrainSetup& setup, const mt::StateDict& model);
template <mt::Scalar T, mt::Scalar C>
std::unique_ptr<Trainer> make_trainer_of(const TrainSetup& setup, mt::Communicator& world);

}  // namespace examples
