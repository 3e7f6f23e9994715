// A GPT trained over every mesh of data and tensor parallel ranks is the GPT of one process.
// SPDX-License-Identifier: MIT
#include <minitorch/comm/mesh.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <minitorch/comm/launch.hpp>
#include <minitorch/comm/self.hpp>
#include <minitorch/nn/gpt.hpp>
#include <minitorch/optim/adam.hpp>
#include <minitorch/optim/clip.hpp>
#include <minitorch/parallel/clip.hpp>
#include <minitorch/parallel/data_parallel.hpp>
#include <minitorch/parallel/gpt.hpp>
#include <minitorch/parallel/optimizer_state.hpp>

#include "../catch.hpp"

namespace mt = minitorch;
namespace mp = minitorch::parallel;

namespace {

constexpr std::int64_t samples = 12, context = 12, symbols = 10;

struct Variant {
  bool sequence = false, recompute = false;
  double dropout = 0;
  int shards = 0;  // virtual ones; 0: one a rank
};

mt::nn::GPTConfig config(const Variant& v) {
  return {.vocabulary = symbols,
          .context = context,
          .layers = 2,
          .dim = 24,
          .heads = 12,
          .inner = 24,
          .dropout = v.dropout,
          .recompute = v.recompute ? mt::Recompute::full : mt::Recompute::none};
}

// Tokens of a step; the target is the token a little further in a pattern.
mt::Tensor<std::int64_t> tokens(std::int64_t step, std::int64_t ahead) {
  auto all = mt::Tensor<std::int64_t>::empty({samples, context});
  for (std::int64_t i = 0; i < all.numel(); ++i) all.mutable_data()[i] = ((i + ahead) * (i + ahead) * 7 + i / 5 + step) % symbols;
  return all;
}

void append(std::vector<double>& numbers, const mt::StateDict& state) {
  for (const auto& [name, tensor] : state) {
    const auto add = [&](const auto& typed) {
      for (auto value : typed.values()) numbers.push_back(static_cast<double>(value));
    };
    if (tensor.dtype() == mt::DType::f64) add(tensor.as<double>());
    if (tensor.dtype() == mt::DType::f32) add(tensor.as<float>());
  }
}

// Losses, then all weights, of one process.
std::vector<double> train_plain(int steps) {
  mt::manual_seed(5);
  mt::nn::GPT<double> model(config({}));
  mt::optim::AdamW<double> adam(model, {.lr = 1e-3});
  const auto parameters = adam.parameters();
  std::vector<double> numbers;
  for (int step = 0; step < steps; ++step) {
    adam.zero_grad();
    const auto loss = mt::nn::gpt_loss(model, tokens(step, 0), tokens(step, 1));
    loss.backward();
    mt::optim::clip_grad_norm_(parameters, 1);
    adam.step();
    numbers.push_back(loss.item());
  }
  append(numbers, mt::nn::state_dict(model));
  return numbers;
}

// The same of a mesh, and at the end the states of the optimizer.
template <mt::Scalar T, mt::Scalar C>
std::vector<double> train_rank(mt::Communicator& world, int data, int tensor, const Variant& v, int steps) {
  mt::Mesh mesh(world, {{"data", data}, {"tensor", tensor}});
  const mp::Axis cut(mesh["tensor"], v.shards), parts(mesh["data"], v.shards);
  mt::manual_seed(5);
  mp::ParallelGPT<T, C> model(cut, config(v), {.sequence_parallel = v.sequence});
  mp::DataParallel<T> parallel(model, parts, {.bucket_bytes = 4096});
  mt::optim::AdamW<T> adam(model, {.lr = 1e-3});
  std::vector<double> numbers;
  for (int step = 0; step < steps; ++step) {
    adam.zero_grad();
    const auto inputs = tokens(step, 0), targets = tokens(step, 1);
    for (int local = 0; local < parts.local_shards(); ++local) {
      const auto [first, last] = mp::partition(samples, parts.shards(), parts.shard(local));
      const mt::Scoped<&mt::ThreadState::batch> place({.first = first, .local = last - first, .total = samples});
      mt::thread_state.next_stream = static_cast<std::uint64_t>(step + 1) << 20;
      const double count = static_cast<double>((last - first) * context);
      const auto mean = model.loss(inputs.slice(first, last), targets.slice(first, last)).local();
      parallel.backward(mt::mul(mean, static_cast<mt::compute_t<C>>(count)), count);
    }
    numbers.push_back(parallel.finish().mean());
    mp::clip_grad_norm_(model, cut, 1);
    adam.step();
  }
  append(numbers, mp::whole_state_dict(model, cut));
  if (v.shards > 0) append(numbers, mp::whole_optimizer_state(adam, model, cut));
  return numbers;
}

template <mt::Scalar T, mt::Scalar C = T>
std::vector<std::vector<double>> train(int data, int tensor, const Variant& v, int steps) {
  return mt::launch(data * tensor, [&](mt::Communicator& world) { return train_rank<T, C>(world, data, tensor, v, steps); });
}

// On 1, 2 and 4 ranks in each arrangement: the bits of one rank.
template <mt::Scalar T, mt::Scalar C = T>
void check_same_bits(const Variant& v) {
  mt::SelfCommunicator self;
  const auto alone = train_rank<T, C>(self, 1, 1, v, 4);
  for (const auto& [data, tensor] : {std::pair(1, 2), std::pair(2, 1), std::pair(2, 2), std::pair(1, 4), std::pair(4, 1)}) {
    INFO(data << " x " << tensor << " ranks, sequence parallel " << v.sequence);
    for (const auto& rank : train<T, C>(data, tensor, v, 4)) CHECK(rank == alone);
  }
}

}  // namespace

TEST_CASE("50 steps over every mesh of up to 4 ranks, sequence parallel or not, recomputed or not, end within 1e-10 of one process") {
  const auto plain = train_plain(50);
  for (int data = 1; data <= 4; ++data)
    for (int tensor = 1; data * tensor <= 4; ++tensor)
      for (bool sequence : {false, true})
        for (bool recompute : {false, true}) {
          if (sequence && tensor == 1) continue;  // there is nothing to cut
          INFO(data << " x " << tensor << " ranks, sequence parallel " << sequence << ", recompute " << recompute);
          for (const auto& rank : train<double>(data, tensor, {sequence, recompute}, 50)) {
            REQUIRE(rank.size() == plain.size());
            double largest = 0;
            for (std::size_t i = 0; i < rank.size(); ++i) largest = (std::max)(largest, std::abs(rank[i] - plain[i]));
            CHECK(largest < 1e-10);
          }
        }
}

TEST_CASE("with virtual shards every mesh gives the same bits: losses, weights and the optimizer's states") {
  for (bool sequence : {false, true}) check_same_bits<double>({sequence, false, 0.1, 4});
}

TEST_CASE("with virtual shards every mesh gives the same bits with bfloat16 products too") {
  for (bool sequence : {false, true}) check_same_bits<float, mt::bfloat16>({sequence, false, 0.1, 4});
}

TEST_CASE("an optimizer's state of two ranks continues on one, and in the plain model, where names and shapes fit") {
  const auto states = mt::launch(2, [](mt::Communicator& world) {
    const mp::Axis cut(world);
    mt::manual_seed(5);
    mp::ParallelGPT<double> model(cut, config({}));
    mt::optim::AdamW<double> adam(model);
    model.loss(tokens(0, 0), tokens(0, 1)).backward();
    adam.step();
    const mt::StateDict whole = mp::whole_optimizer_state(adam, model, cut);

    mt::nn::GPT<double> plain(config({}));
    mt::optim::AdamW<double> other(plain);
    other.load_state_dict(whole);
    std::vector<double> before, after;
    append(before, whole);
    append(after, other.state_dict());
    std::ranges::sort(before);
    std::ranges::sort(after);

    mt::optim::AdamW<double> again(model);
    mp::load_whole_optimizer_state(again, model, cut, other.state_dict());
    std::vector<double> back;
    append(back, mp::whole_optimizer_state(again, model, cut));
    std::ranges::sort(back);

    std::string message;
    try {
      mt::StateDict wrong;
      wrong.add("blocks.0.mlp.up.weight.exp_avg", mt::zeros<double>({3, 24}));
      mp::load_whole_optimizer_state(again, model, cut, wrong);
    } catch (const mt::ArgumentError& error) {
      message = error.what();
    }
    return std::string(before == after && before == back ? "equal; " : "different; ") + message;
  });
  for (const std::string& state : states)
    CHECK_THAT(state, Catch::StartsWith("equal; ") && Catch::Contains("exp_avg is [3, 24] but must be [24, 24]"));
}
