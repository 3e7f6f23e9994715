// A GPT over ranks trains like the plain one, with the same bits on any number of ranks, and its state loads anywhere.
// SPDX-License-Identifier: MIT
#include <minitorch/parallel/gpt.hpp>

#include <string>
#include <vector>

#include <minitorch/comm/launch.hpp>
#include <minitorch/nn/gpt.hpp>
#include <minitorch/optim/sgd.hpp>
#include <minitorch/parallel/state.hpp>

#include "../catch.hpp"

namespace mt = minitorch;
namespace mp = minitorch::parallel;

namespace {

mt::nn::GPTConfig config(bool tied, double dropout) {
  return {.vocabulary = 10, .context = 8, .layers = 2, .dim = 16, .heads = 4, .kv_heads = 4, .inner = 32, .dropout = dropout, .tied = tied};
}

struct Batch {
  mt::Tensor<std::int64_t> tokens = mt::Tensor<std::int64_t>::empty({2, 8}), targets = mt::Tensor<std::int64_t>::empty({2, 8});
  explicit Batch(std::int64_t step) {
    for (std::int64_t i = 0; i < 16; ++i) {
      tokens.mutable_data()[i] = (7 * i + step) % 10;
      targets.mutable_data()[i] = (7 * i + step + 3) % 10;
    }
  }
};

void append(std::vector<double>& numbers, const mt::StateDict& state) {
  for (const auto& [name, tensor] : state) {
    const auto typed = tensor.as<double>();
    numbers.insert(numbers.end(), typed.values().begin(), typed.values().end());
  }
}

// Losses of three steps, then all weights.
std::vector<double> train_plain(bool tied, double dropout) {
  mt::manual_seed(5);
  mt::nn::GPT<double> model(config(tied, dropout));
  mt::optim::SGD<double> sgd(model, {.lr = 0.5});
  std::vector<double> numbers;
  for (std::int64_t step = 0; step < 3; ++step) {
    const Batch batch(step);
    const auto loss = mt::cross_entropy(model(batch.tokens).reshape({16, 10}), batch.targets.reshape({16}));
    sgd.zero_grad();
    loss.backward();
    sgd.step();
    numbers.push_back(loss.item());
  }
  append(numbers, mt::nn::state_dict(model));
  return numbers;
}

std::vector<std::vector<double>> train_parallel(int ranks, int shards, bool tied, double dropout, mp::ParallelGPTOptions options,
                                                bool recompute = false) {
  return mt::launch(ranks, [&](mt::Communicator& comm) {
    mt::manual_seed(5);
    const mp::Axis axis(comm, shards);
    auto c = config(tied, dropout);
    c.recompute = recompute ? mt::Recompute::full : mt::Recompute::none;
    mp::ParallelGPT<double> model(axis, c, options);
    mt::optim::SGD<double> sgd(model, {.lr = 0.5});
    std::vector<double> numbers;
    for (std::int64_t step = 0; step < 3; ++step) {
      const Batch batch(step);
      const auto loss = model.loss(batch.tokens, batch.targets);
      sgd.zero_grad();
      loss.backward();
      sgd.step();
      numbers.push_back(loss.item());
    }
    append(numbers, mp::whole_state_dict(model, axis, c.vocabulary));
    return numbers;
  });
}

void check_close(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = (std::max)(largest, std::abs(a[i] - b[i]));
  CHECK(largest < 1e-10);
}

}  // namespace

TEST_CASE("TP-05 TP-06 TP-12 a GPT over 1, 2 and 4 ranks trains like the plain one") {
  const std::vector<double> plain[2] = {train_plain(false, 0), train_plain(true, 0)};
  for (bool tied : {false, true})
    for (bool sequence : {false, true})
      for (bool vocabulary : {false, true}) {
        INFO("tied " << tied << " sequence parallel " << sequence << " vocabulary parallel " << vocabulary);
        const auto one = train_parallel(1, 4, tied, 0, {sequence, vocabulary});
        check_close(one[0], plain[tied ? 1 : 0]);
        for (int ranks : {2, 4})
          for (const auto& rank : train_parallel(ranks, 4, tied, 0, {sequence, vocabulary})) CHECK(rank == one[0]);
      }
}

TEST_CASE("TP-07 dropout and recompute over ranks: the masks of the plain model") {
  const auto plain = train_plain(true, 0.25);
  for (bool sequence : {false, true})
    for (bool recompute : {false, true})
      for (const auto& rank : train_parallel(2, 2, true, 0.25, {sequence, false}, recompute)) check_close(rank, plain);
}

TEST_CASE("Z-02 Z-06 a state saved under four ranks loads under two, and in the plain model") {
  const Batch batch(0);
  const auto square_sum = [](const mt::Tensor<double>& values) { return mt::sum(mt::square(values)).item(); };
  const auto saved = mt::launch(4, [&](mt::Communicator& comm) {
    mt::manual_seed(6);
    const mp::Axis axis(comm);
    mp::ParallelGPT<double> model(axis, config(true, 0), {false, true});
    std::vector<double> numbers{square_sum(model.logits(batch.tokens))};
    append(numbers, mp::whole_state_dict(model, axis, 10));
    return numbers;
  });

  mt::nn::GPT<double> plain(config(true, 0));
  std::size_t next = 1;
  mt::no_grad([&] {
    mt::for_each_tensor(plain, [&](const std::string&, auto& tensor) {
      for (auto& value : tensor.mutable_values()) value = saved[0].at(next++);
    });
  });
  CHECK(next == saved[0].size());
  CHECK(square_sum(plain(batch.tokens)) == Approx(saved[0][0]).epsilon(1e-12));

  const auto loaded = mt::launch(2, [&](mt::Communicator& comm) {
    const mp::Axis axis(comm);
    mp::ParallelGPT<double> model(axis, config(true, 0), {true, true});
    mp::load_whole_state_dict(model, axis, mt::nn::state_dict(plain));
    return square_sum(model.logits(batch.tokens));
  });
  for (double sum : loaded) CHECK(sum == Approx(saved[0][0]).epsilon(1e-12));
}

TEST_CASE("TP-13 heads that the shards do not divide are an error with the numbers") {
  CHECK_THROWS_WITH(mt::launch(3, [](mt::Communicator& comm) { mp::ParallelGPT<double>(mp::Axis(comm), config(true, 0)); }),
                    Catch::Contains("3 shards do not divide 4 heads"));
}

TEST_CASE("TP-15 two all-reduces a layer forward, as many backward; a gather and a scatter for each under sequence parallelism") {
  const auto counts = mt::launch(2, [](mt::Communicator& comm) {
    std::vector<double> calls;
    for (bool sequence : {false, true}) {
      const mp::Axis axis(comm);
      mp::ParallelGPT<double> model(axis, config(true, 0), {sequence, false});
      const Batch batch(0);
      const std::uint64_t start = mt::thread_state.collectives;
      const auto loss = model.loss(batch.tokens, batch.targets);
      const std::uint64_t forward = mt::thread_state.collectives;
      loss.backward();
      calls.push_back(static_cast<double>(forward - start));
      calls.push_back(static_cast<double>(mt::thread_state.collectives - forward));
    }
    return calls;
  });
  for (const auto& rank : counts) {
    CHECK(rank[0] == 4);
    CHECK(rank[1] == 4);
    CHECK(rank[2] == 9);   // 2 a split region, and one gather at the end
    CHECK(rank[3] == 19);  // the same, the entry's gather, and 2 x 5 sums of the norms' parameters
  }
}
