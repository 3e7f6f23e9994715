// Data parallel training equals the whole batch, whatever the shards, and gives the same bits on any number of ranks.
// SPDX-License-Identifier: MIT
#include <minitorch/parallel/data_parallel.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <minitorch/comm/launch.hpp>
#include <minitorch/comm/self.hpp>
#include <minitorch/nn/linear.hpp>
#include <minitorch/nn/module.hpp>
#include <minitorch/ops/operators.hpp>
#include <minitorch/ops/square.hpp>
#include <minitorch/ops/sum.hpp>

#include "../catch.hpp"

namespace mt = minitorch;
namespace mp = minitorch::parallel;

namespace {

mt::Tensor<double> samples(std::int64_t first, std::int64_t last) {
  return mt::compute<double>("samples", {last - first, 5}, [&](double* out) {
    for (std::int64_t i = 5 * first; i < 5 * last; ++i) *out++ = std::sin(static_cast<double>(i));
  });
}

std::vector<double> flat_gradient(mt::nn::Linear<double>& model) {
  std::vector<double> numbers;
  mt::for_each_parameter(model, [&](const std::string&, const auto& parameter) {
    const auto gradient = parameter.grad();
    numbers.insert(numbers.end(), gradient.values().begin(), gradient.values().end());
  });
  return numbers;
}

mt::Tensor<double> loss_of(mt::nn::Linear<double>& model, std::int64_t first, std::int64_t last) {
  return mt::sum(mt::square(model(samples(first, last))));
}

std::vector<double> whole_batch(std::int64_t count) {
  mt::manual_seed(3);
  mt::nn::Linear<double> model(5, 3);
  (loss_of(model, 0, count) / static_cast<double>(count)).backward();
  return flat_gradient(model);
}

void check_close(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(1e-12));
}

// A module that may grow.
struct Scaled {
  mt::nn::Linear<double> linear{5, 3};
  std::optional<mt::Tensor<double>> scale;
  template <class V>
  void visit(V&& v) {
    v("linear", linear);
    if (scale) v("scale", *scale);
  }
};

struct Both {
  mt::nn::Linear<double> first{5, 5}, last{5, 3};
  template <class V>
  void visit(V&& v) {
    v("first", first);
    v("last", last);
  }
};

}  // namespace

TEST_CASE("DP-01 DP-02 DP-21 uneven and empty shards equal the whole batch") {
  const std::vector<std::vector<std::int64_t>> bounds{{0, 3, 4}, {0, 4, 4}, {0, 0, 4}};
  for (const auto& bound : bounds) {
    const auto gradients = mt::launch(2, [&](mt::Communicator& comm) {
      mt::manual_seed(3);
      mt::nn::Linear<double> model(5, 3);
      mp::DataParallel<double> parallel(model, comm);
      const auto r = static_cast<std::size_t>(comm.rank());
      if (bound[r] < bound[r + 1]) parallel.backward(loss_of(model, bound[r], bound[r + 1]), static_cast<double>(bound[r + 1] - bound[r]));
      const mp::BatchSum sum = parallel.finish();
      if (sum.count != 4) throw mt::Error("count");
      auto numbers = flat_gradient(model);
      numbers.push_back(sum.mean());
      return numbers;
    });
    CHECK(gradients[0] == gradients[1]);
    auto whole = whole_batch(4);
    mt::manual_seed(3);
    mt::nn::Linear<double> model(5, 3);
    whole.push_back(loss_of(model, 0, 4).item() / 4);
    check_close(gradients[0], whole);
  }
}

TEST_CASE("DP-03 DP-05 micro-batches of 3, 1, 2 and 2 samples equal one batch of 8; nothing is sent before the last") {
  const auto gradients = mt::launch(2, [&](mt::Communicator& comm) {
    mt::manual_seed(3);
    mt::nn::Linear<double> model(5, 3);
    mp::DataParallel<double> parallel(model, comm);
    const std::int64_t bounds[2][3] = {{0, 3, 4}, {4, 6, 8}};
    const auto& mine = bounds[comm.rank()];
    const std::uint64_t before = mt::thread_state.collectives;
    parallel.backward(loss_of(model, mine[0], mine[1]), static_cast<double>(mine[1] - mine[0]), false);
    if (mt::thread_state.collectives != before) throw mt::Error("communicated too early");
    parallel.backward(loss_of(model, mine[1], mine[2]), static_cast<double>(mine[2] - mine[1]));
    parallel.finish();
    return flat_gradient(model);
  });
  CHECK(gradients[0] == gradients[1]);
  check_close(gradients[0], whole_batch(8));
}

TEST_CASE("virtual shards give the same bits on 1, 2 and 4 ranks") {
  const auto run = [](int ranks) {
    return mt::launch(ranks, [](mt::Communicator& comm) {
      const mp::Axis axis(comm, 4);
      mt::manual_seed(3);
      mt::nn::Linear<double> model(5, 3);
      mp::DataParallel<double> parallel(model, axis, {.bucket_bytes = 64});
      for (int local = 0; local < axis.local_shards(); ++local) {
        const mp::SampleRange range = mp::partition(11, 4, axis.shard(local));
        parallel.backward(loss_of(model, range.first, range.last), static_cast<double>(range.last - range.first));
      }
      parallel.finish();
      return flat_gradient(model);
    });
  };
  const auto one = run(1), two = run(2), four = run(4);
  check_close(one[0], whole_batch(11));
  for (const auto& gradient : two) CHECK(gradient == one[0]);
  for (const auto& gradient : four) CHECK(gradient == one[0]);
}

TEST_CASE("DP-07 a parameter that one rank uses counts, one that none uses has no gradient") {
  const auto seen = mt::launch(2, [](mt::Communicator& comm) {
    mt::manual_seed(3);
    mt::nn::Linear<double> model(5, 3);
    mp::DataParallel<double> parallel(model, comm);
    if (comm.rank() == 0) parallel.backward(mt::sum(model.weight), 1);
    parallel.finish();
    return std::vector<double>{model.weight.grad().defined() ? model.weight.grad().values()[0] : -1.0,
                               model.bias.grad().defined() ? 1.0 : 0.0};
  });
  for (const auto& rank : seen) CHECK(rank == std::vector<double>{1.0, 0.0});
}

TEST_CASE("backward writes gradients where ranks add them; one set by hand counts as well") {
  const auto sums = mt::launch(2, [](mt::Communicator& comm) {
    mt::manual_seed(3);
    mt::nn::Linear<double> model(5, 3);
    const auto weight = [&] { return model.weight.grad(); };
    const double* place = nullptr;
    double sum = 0;
    {
      mp::DataParallel<double> parallel(model, comm);
      for (int step = 0; step < 2; ++step) {
        parallel.backward(loss_of(model, 0, 1), 1, false);
        const double* const before = weight().data();
        parallel.finish();
        if (weight().data() != before) throw mt::Error("the gradient was copied");
        if (step > 0 && before != place) throw mt::Error("the gradient moved");
        place = before;
        mt::for_each_parameter(model, [](const std::string&, const auto& parameter) { mt::Tensor(parameter).zero_grad(); });
      }
      model.weight.set_grad(mt::full<double>({3, 5}, comm.rank() + 1.0));
      parallel.backward(mt::sum(model.weight), 1);
      parallel.finish();
      sum = weight().data()[7] * 2;
    }
    model.weight.zero_grad();
    loss_of(model, 0, 1).backward();
    if (weight().data() == place) throw mt::Error("the gradient is still a bucket's");
    return sum;
  });
  CHECK(sums == std::vector<double>{5, 5});  // 1 + 2 by hand, 1 + 1 of the losses
}

TEST_CASE("DP-10 requires_grad toggled, or another DataParallel made, is an error of the next synchronisation") {
  mt::nn::Linear<double> model(5, 3);
  mt::SelfCommunicator comm;
  mp::DataParallel<double> parallel(model, comm);
  const auto finish = [&] {
    parallel.backward(loss_of(model, 0, 1), 1);
    parallel.finish();
  };
  CHECK_NOTHROW(finish());
  std::string message;
  SECTION("off") {
    model.bias.set_requires_grad(false);
    message = "the parameter 'bias' was given another requires_grad";
  }
  SECTION("off and on") {
    model.bias.set_requires_grad(false).set_requires_grad(true);
    message = "a leaf of shape [3]";
  }
  SECTION("another one") {
    mp::DataParallel<double> other(model, comm);
    message = "the parameter 'weight' was given another requires_grad, or another DataParallel";
  }
  CHECK_THROWS_WITH(finish(), Catch::Contains(message));
}

TEST_CASE("DP-10 a parameter replaced, added or unfrozen is an error of the next backward(), which changes nothing") {
  Scaled model;
  model.linear.bias.set_requires_grad(false);
  const auto loss = [&] {
    const auto sum = loss_of(model.linear, 0, 1);
    return model.scale ? mt::mul(sum, *model.scale) : sum;
  };
  mt::SelfCommunicator comm;
  std::optional<mp::DataParallel<double>> parallel(std::in_place, model, comm);
  Scaled moved = std::move(model);  // modules move freely
  model = std::move(moved);
  parallel->backward(loss(), 1);
  parallel->finish();
  const mt::Tensor<double> weight = model.linear.weight;
  const std::vector<double> gradient(weight.grad().values().begin(), weight.grad().values().end());

  std::string shape;
  SECTION("replaced") {
    model.linear.weight = mt::full<double>({3, 5}, 0.5).set_requires_grad(true);
    shape = "[3, 5]";
  }
  SECTION("added") {
    model.scale = mt::full<double>({1}, 2.0).set_requires_grad(true);
    shape = "[1]";
  }
  SECTION("unfrozen") {
    model.linear.bias.set_requires_grad(true);
    shape = "[3]";
  }
  CHECK_THROWS_WITH(parallel->backward(loss(), 1), Catch::Contains("a leaf of shape " + shape) && Catch::Contains("of the 1 parameters"));
  CHECK(std::ranges::equal(weight.grad().values(), gradient));
  CHECK_THROWS_WITH(parallel->backward(mt::full<double>({1}, 7.0).set_requires_grad(true), 1), Catch::Contains("a leaf of shape [1]"));

  parallel.reset();
  parallel.emplace(model, comm);
  mt::nn::zero_grad(model);
  parallel->backward(loss(), 1);
  CHECK(parallel->finish().count == 1);
  CHECK(model.linear.weight.grad().defined());
}

TEST_CASE("DP-10 after an error of backward() a step goes on as if it had not been called, on any ranks, with and without shards") {
  for (const int shards : {0, 4})
    for (const int ranks : {1, 2}) {
      const auto steps = mt::launch(ranks, [&](mt::Communicator& comm) {
        const mp::Axis axis = shards == 0 ? mp::Axis(comm) : mp::Axis(comm, shards);
        const int passes = shards == 0 ? 2 : axis.local_shards();
        std::vector<std::vector<double>> seen;
        for (const bool wrong : {false, true}) {
          mt::manual_seed(3);
          mt::nn::Linear<double> model(5, 3);
          mp::DataParallel<double> parallel(model, axis, {.bucket_bytes = 8});
          const auto foreign = mt::full<double>({1}, 2.0).set_requires_grad(true);
          int errors = 0;
          for (int pass = 0; pass < passes; ++pass) {
            const auto loss = loss_of(model, pass, pass + 1);
            try {
              if (wrong) parallel.backward(mt::mul(loss, foreign), 1, pass == passes - 1);
            } catch (const mt::ArgumentError&) {
              ++errors;
            }
            parallel.backward(loss, 1, pass == passes - 1);
          }
          const mp::BatchSum sum = parallel.finish();
          seen.push_back(flat_gradient(model));
          seen.back().insert(seen.back().end(), {sum.loss, sum.count});
          if (wrong && (errors != passes || foreign.grad().defined())) throw mt::Error("the other leaf went unnoticed");
        }
        return seen[0] == seen[1];
      });
      CHECK(std::ranges::count(steps, true) == ranks);
    }
}

TEST_CASE("with other_leaves a loss may depend on them: a gradient penalty") {
  mt::manual_seed(3);
  mt::nn::Linear<double> model(5, 3);
  mt::SelfCommunicator comm;
  mp::DataParallel<double> parallel(model, comm, {.other_leaves = true});
  auto input = samples(0, 2);
  input.set_requires_grad(true);
  const auto slope = mt::grad(mt::sum(mt::square(model(input))), input, {.create_graph = true});
  parallel.backward(mt::sum(mt::square(slope)), 2);
  parallel.finish();
  CHECK(model.weight.grad().defined());
  CHECK(input.grad().defined());
}

TEST_CASE("a backward() that fails drops the step; once sums over ranks have begun, all later calls are errors") {
  const auto seen = mt::launch(2, [](mt::Communicator& comm) {
    mt::manual_seed(3);
    Both model;
    mp::DataParallel<double> parallel(model, comm, {.bucket_bytes = 8});
    bool fails = false;
    model.first.weight.register_hook([&](const mt::Tensor<double>&) {
      if (fails) throw mt::GraphError("the hook's");
      return mt::Tensor<double>();
    });
    const auto pass = [&](bool is_last) {
      std::string error;
      try {
        parallel.backward(mt::sum(mt::square(model.last(model.first(samples(0, 2))))), 2, is_last);
      } catch (const mt::GraphError& e) {
        error = e.what();
      }
      return error;
    };
    const auto step = [&] {
      pass(false);
      pass(true);
      const mp::BatchSum sum = parallel.finish();
      const auto gradient = model.first.weight.grad().values();
      std::vector<double> numbers(gradient.begin(), gradient.end());
      numbers.insert(numbers.end(), {sum.loss, sum.count});
      mt::nn::zero_grad(model);
      return numbers;
    };
    const auto right = step();
    pass(false);
    fails = true;
    if (pass(false) != "the hook's") throw mt::Error("the hook did not throw");
    fails = false;
    if (step() != right) throw mt::Error("something of the failed step was left");
    fails = true;
    if (pass(true) != "the hook's") throw mt::Error("the hook did not throw");
    fails = false;
    return pass(true);
  });
  for (const std::string& error : seen) CHECK_THAT(error, Catch::Contains("an earlier backward() failed after sums over ranks had begun"));
}

TEST_CASE("DP-09 DP-11 models that differ are an error that names the parameter, or are made equal by broadcast") {
  const auto start = [](int extra, bool broadcast) {
    return mt::launch(2, [&](mt::Communicator& comm) {
      mt::manual_seed(extra != 0 ? 3u : 3u + static_cast<unsigned>(comm.rank()));
      mt::nn::Linear<double> model(5, 3 + extra * comm.rank());
      mp::DataParallel<double> parallel(model, comm, {.broadcast = broadcast});
      return model.weight.values()[0];
    });
  };
  CHECK_THROWS_WITH(start(0, false), Catch::Contains("parameter 0 has other values on rank 1"));
  CHECK_THROWS_WITH(start(1, true), Catch::Contains("parameter 0 has another name or shape on rank 1") && Catch::Contains("weight ["));
  const auto weights = start(0, true);
  CHECK(weights[0] == weights[1]);
}
