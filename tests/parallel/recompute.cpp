// Recomputed models have the bits of plain ones: in every scalar type, with dropout, on one and two threads, on two ranks.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/checkpoint.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <minitorch/comm/launch.hpp>
#include <minitorch/core/parallel_for.hpp>
#include <minitorch/nn/linear.hpp>
#include <minitorch/nn/module.hpp>
#include <minitorch/ops/gelu.hpp>
#include <minitorch/ops/mean.hpp>
#include <minitorch/ops/square.hpp>
#include <minitorch/parallel/gpt.hpp>

#include "../catch.hpp"

namespace mt = minitorch;
namespace mp = minitorch::parallel;

namespace {

#ifdef MINITORCH_TEST_EMULATED  // after threads the emulator cannot fork
constexpr int most_threads = 1;
#else
constexpr int most_threads = 2;
#endif

using Bits = std::string;

template <mt::Element T>
void append(Bits& bits, const mt::Tensor<T>& x) {
  bits.append(reinterpret_cast<const char*>(x.data()), x.values().size_bytes());
}

// x + dropout(W2 gelu(W1 x + b1) + b2)
template <mt::Scalar T>
struct ResidualBlock {
  mt::nn::Linear<T> up{64, 256}, down{256, 64};
  mt::Tensor<T> operator()(const mt::Tensor<T>& x) const { return mt::add(x, mt::dropout(down(mt::gelu(up(x))), 0.1)); }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("up", up);
    v("down", down);
  }
};

template <mt::Scalar T>
struct ResidualNet {
  std::vector<ResidualBlock<T>> blocks = std::vector<ResidualBlock<T>>(4);
  template <class Visitor>
  void visit(Visitor&& v) {
    v("blocks", blocks);
  }
};

// Output, all gradients and the place in the random stream after a pass with the loss mean(output^2).
template <mt::Scalar T, class Call>
Bits pass(Call call) {
  mt::manual_seed(1);
  ResidualNet<T> net;
  const auto x = mt::nn::parameter<T>({16, 64}, mt::nn::Init::normal(0, 1));
  mt::Tensor<T> output = x;
  for (ResidualBlock<T>& block : net.blocks) output = call(block, output);
  mt::mean(mt::square(output)).backward();
  Bits bits;
  append(bits, output);
  append(bits, x.grad());
  for (const auto& parameter : mt::nn::parameters<T>(net)) append(bits, parameter.grad());
  append(bits, mt::scalar<std::int64_t>(static_cast<std::int64_t>(mt::thread_state.next_stream)));
  return bits;
}

class Threads {
 public:
  explicit Threads(int count) : before_(mt::num_threads()) { mt::set_num_threads(count); }
  ~Threads() { mt::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace

TEMPLATE_TEST_CASE("residual blocks with dropout, plain and recomputed, on one thread and two", "", double, float, mt::half, mt::bfloat16) {
  using T = TestType;
  const auto plain = [](const auto& block, const auto& x) { return block(x); };
  const Bits right = pass<T>(plain);
  for (int count = 1; count <= most_threads; ++count) {
    const Threads threads(count);
    CHECK((pass<T>(plain) == right));
    const auto start = mt::autograd_state.recomputed;
    CHECK((pass<T>([](const auto& block, const auto& x) { return mt::checkpoint(block, x); }) == right));
    CHECK(mt::autograd_state.recomputed > start);
    CHECK((pass<T>([](const auto& block, const auto& x) { return mt::checkpoint(mt::policy::save_products, block, x); }) == right));
    CHECK((pass<T>([](const auto& block, const auto& x) { return mt::checkpoint(mt::CheckpointOptions{.verify = true}, block, x); }) ==
           right));
    CHECK((pass<T>([](const auto& block, const auto& x) {
             return mt::checkpoint([&block](const auto& h) { return mt::checkpoint(block, h); }, x);
           }) == right));
  }
  const auto forgets = [](const auto& block, const auto& x) {  // the test can fail: other random numbers are other bits
    return ++mt::thread_state.next_stream, mt::checkpoint(block, x);
  };
  CHECK((pass<T>(forgets) != right));
}

TEMPLATE_TEST_CASE("TP-07 a GPT with dropout on two ranks, plain and recomputed", "", double, float, mt::half, mt::bfloat16) {
  using T = TestType;
  for (const bool sequence : {false, true}) {
    const auto train = [&](mt::Recompute recompute) {
      return mt::launch(2, [&](mt::Communicator& comm) {
        mt::manual_seed(5);
        const mp::Axis axis(comm, 2);
        mp::ParallelGPT<T> model(
            axis, {.vocabulary = 10, .context = 8, .layers = 2, .dim = 16, .heads = 4, .inner = 32, .dropout = 0.2, .recompute = recompute},
            {sequence, true});
        const auto tokens = mt::compute<std::int64_t>("tokens", {2, 8}, [](std::int64_t* out) {
          for (std::int64_t i = 0; i < 16; ++i) out[i] = 7 * i % 10;
        });
        const auto loss = model.loss(tokens, tokens);
        loss.backward();
        Bits bits;
        append(bits, loss.local());
        for (const auto& parameter : mt::nn::parameters<T>(model)) append(bits, parameter.grad());
        return bits;
      });
    };
    const auto plain = train(mt::Recompute::none);
    CHECK((train(mt::Recompute::full) == plain));
    CHECK((train(mt::Recompute::products) == plain));
  }
}

namespace {

// The bits of a pass on one rank, and the collectives that its communicator ran forward and backward.
struct RankPass {
  Bits bits;
  std::int64_t forward, backward;
};

// Two blocks and the loss of split logits, in one region.
template <class Call>
RankPass rank_pass(mt::Communicator& comm, Call call) {
  mt::manual_seed(3);
  const mp::Axis axis(comm);
  mp::ParallelMLP<double> first(axis, 8, 16, 8), second(axis, 8, 16, 8);
  mp::ColumnLinear<double> head(axis, 8, 10);
  const auto x = mt::nn::parameter<double>({6, 8}, mt::nn::Init::normal(0, 1));
  const auto targets = mt::tensor<std::int64_t>({1, 9, 3, 0, 5, 7});
  const auto region = [&](const mp::Placed<double, mp::Invariant>& in) {
    const auto hidden = second(first(in));
    return mp::vocab_cross_entropy(head(mp::replicate(hidden)), targets, 10);
  };
  const std::int64_t start = comm.counters().total().calls;
  const auto loss = call(region, mp::invariant(axis, x)).local();
  const std::int64_t middle = comm.counters().total().calls;
  loss.backward();
  RankPass pass{{}, middle - start, comm.counters().total().calls - middle};
  append(pass.bits, loss);
  append(pass.bits, x.grad());
  for (auto* module : {&first, &second})
    for (const auto& parameter : mt::nn::parameters<double>(*module)) append(pass.bits, parameter.grad());
  for (const auto& parameter : mt::nn::parameters<double>(head)) append(pass.bits, parameter.grad());
  return pass;
}

}  // namespace

TEST_CASE("policy::save_collectives communicates nothing a second time, full recomputation everything, on every rank alike") {
  const auto failures = mt::launch(2, [](mt::Communicator& comm) {
    const auto with = [&](const mt::CheckpointOptions& options) {
      return rank_pass(comm, [&](const auto& region, const auto& x) { return mt::checkpoint(options, region, x); });
    };
    const RankPass plain = rank_pass(comm, [](const auto& region, const auto& x) { return region(x); });
    const RankPass full = with({}), collectives = with({.policy = mt::policy::save_collectives});
    const RankPass both = with({.policy = mt::policy::save_products || mt::policy::save_collectives});
    const RankPass verified = with({.policy = mt::policy::save_collectives, .verify = true});
    std::string failed;
    const auto check = [&](bool holds, const char* what) { failed += holds ? "" : what; };
    for (const RankPass* pass : {&full, &collectives, &both, &verified}) {
      check(pass->bits == plain.bits, "other bits; ");
      check(pass->forward == 5 && plain.forward == 5, "not two sums and the loss's three forward; ");
    }
    check(plain.backward == 3, "not three sums backward; ");
    check(full.backward == 3 + 5, "full: not all of them again; ");
    check(collectives.backward == 3, "save_collectives: some again; ");
    check(both.backward == 3, "save_products || save_collectives: some again; ");
    check(verified.backward == 3, "save_collectives to the end: some again; ");
    return failed;
  });
  for (const std::string& failed : failures) CHECK(failed.empty());
}
