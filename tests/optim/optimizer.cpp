// Optimizers: published traces, states, groups, masters of narrow parameters.
// SPDX-License-Identifier: MIT
#include <minitorch/optim/optim.hpp>

#include <tests/catch.hpp>

using namespace minitorch;

namespace {

using Values = std::vector<double>;

// The parameter, 1 at first, after each of the gradients.
template <class Optimizer>
Values trace(typename Optimizer::Options options, const Values& gradients = {.5, .5, -1}) {
  Tensor<double> p = ones<double>({1});
  p.set_requires_grad();
  Optimizer optimizer(std::vector<Tensor<double>>{p}, options);
  Values out;
  for (double g : gradients) {
    p.set_grad(full<double>({1}, g));
    optimizer.step();
    out.push_back(p.item());
  }
  return out;
}

void check_close(const Values& got, const Values& expected, double tolerance = 1e-12) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("step " << i);
    CHECK(got[i] == Approx(expected[i]).epsilon(tolerance));
  }
}

using SGD = optim::SGD<double>;
using Adam = optim::Adam<double>;
using AdamW = optim::AdamW<double>;

struct Pair {
  Tensor<double> weight = full<double>({3, 2}, 1).set_requires_grad();
  Tensor<double> bias = full<double>({3}, 1).set_requires_grad();
  template <class V>
  void visit(V&& v) {
    v("weight", weight);
    v("bias", bias);
  }
};

template <Scalar T>
void fill_grad(Tensor<T>& p, double value) {
  p.set_grad(full<compute_t<T>>(p.shape(), static_cast<compute_t<T>>(value)));
}

}  // namespace

TEST_CASE("OP01 OP02 OP04 OP06 traces of SGD") {
  check_close(trace<SGD>({.lr = .1}), {0.95, 0.9, 1.0});
  check_close(trace<SGD>({.lr = .1, .momentum = .9}), {0.95, 0.855, 0.8695});
  check_close(trace<SGD>({.lr = .1, .momentum = .9, .nesterov = true}), {0.905, 0.7695, 0.88255});
  check_close(trace<SGD>({.lr = .1, .momentum = .9, .weight_decay = .1, .nesterov = true}), {0.886, 0.725566, 0.810363646});
}

TEST_CASE("SGD with dampening and maximize") {
  check_close(trace<SGD>({.lr = .1, .momentum = .9, .dampening = .5}, {1, 1}), {0.9, 0.76});
  check_close(trace<SGD>({.lr = .1, .maximize = true}, {1, 1}), {1.1, 1.2});
}

TEST_CASE("OP07 OP08 OP12 traces of Adam") {
  check_close(trace<Adam>({}), {0.99900000002, 0.99800000004, 0.9980756493696871});
  check_close(trace<Adam>({.weight_decay = .1}), {0.9990000000166667, 0.998000004381447, 0.9979350636112341});
  check_close(trace<Adam>({.amsgrad = true}, {1, .1, .1}), {0.99900000001, 0.9982591893776097, 0.997626045843036});
}

TEST_CASE("OP10 OP11 traces of AdamW") {
  check_close(trace<AdamW>({}), {0.99899000002, 0.9979800101399999, 0.9980456796695857});
  check_close(trace<AdamW>({.beta2 = .95, .weight_decay = .1}), {0.99890000002, 0.997800110039998, 0.9977750386665444});
}

TEST_CASE("OP13 OP14 traces of Adagrad and RMSprop") {
  check_close(trace<optim::Adagrad<double>>({.lr = .1}, {.5, .5}), {0.90000000002, 0.8292893219113453});
  check_close(trace<optim::RMSprop<double>>({}, {.5, .5}), {0.900000019999996, 0.8291119095494123});
}

TEST_CASE("OP15 OP16 OP17 Adam with tiny, zero and absent gradients") {
  check_close(trace<Adam>({}, {1e-8}), {0.9995});
  check_close(trace<Adam>({}, {0, 0}), {1, 1});
  check_close(trace<AdamW>({.weight_decay = .1}, {0, 0}), {0.9999, 0.99980001});
  Pair pair;
  AdamW optimizer(pair, {.weight_decay = .1});
  optimizer.step();
  CHECK(pair.weight.data()[0] == 1);
  CHECK(optimizer.state_dict().size() == 1);  // the learning rate alone: an absent gradient counts no step
}

TEST_CASE("OP18 options out of range are refused") {
  Pair pair;
  CHECK_THROWS_WITH(SGD(pair, {.nesterov = true}), "SGD: nesterov needs a momentum and no dampening, got 0 and 0");
  CHECK_THROWS_AS(SGD(pair, {.lr = -1}), ArgumentError);
  CHECK_THROWS_WITH(Adam(pair, {.beta1 = 1}), "Adam: the betas must be in [0, 1), got 1 and 0.999");
  CHECK_THROWS_AS(AdamW(pair, {.eps = -1}), ArgumentError);
}

TEST_CASE("what is not a parameter is refused") {
  Pair pair;
  CHECK_THROWS_WITH(SGD(std::vector<Tensor<double>>{pair.bias, pair.bias}), "optimizer: the parameter 1 is there twice, also as 0");
  CHECK_THROWS_WITH(SGD(std::vector<Tensor<double>>{zeros<double>({2})}),
                    "optimizer: 0 of shape [2] is not a leaf that requires a gradient");
  CHECK_THROWS_AS(optim::SGD<float>(pair), ArgumentError);
}

TEST_CASE("groups have options of their own; matrices alone decay") {
  Pair pair;
  optim::AdamW<double> optimizer(optim::decay_groups<double>(pair, AdamW::Options{.lr = .5, .weight_decay = .1}));
  fill_grad(pair.weight, 0);
  fill_grad(pair.bias, 0);
  optimizer.step();
  CHECK(pair.weight.data()[5] == Approx(0.95).epsilon(1e-15));
  CHECK(pair.bias.data()[2] == 1);
  optimizer.set_lr(.25);
  CHECK(optimizer.groups()[1].options.lr == .25);
}

TEMPLATE_TEST_CASE("a loaded state continues bit for bit", "", float, bfloat16) {
  using T = TestType;
  const auto make = [] { return full<T>({257}, T(1)).set_requires_grad(); };
  Tensor<T> a = make(), b = make();
  optim::AdamW<T> first(std::vector<Tensor<T>>{a}), second(std::vector<Tensor<T>>{b});
  const auto run = [](auto& optimizer, Tensor<T>& p, int from, int to) {
    for (int i = from; i < to; ++i) {
      fill_grad(p, 0.3 - 0.1 * i);
      optimizer.step();
    }
  };
  run(first, a, 0, 10);
  run(second, b, 0, 5);
  Tensor<T> c = b.clone().detach().set_requires_grad();
  optim::AdamW<T> third(std::vector<Tensor<T>>{c}, {.lr = 7});
  third.load_state_dict(second.state_dict());
  run(third, c, 5, 10);
  CHECK(std::memcmp(a.data(), c.data(), 257 * sizeof(T)) == 0);
}

TEST_CASE("a state that does not fit changes nothing and says all that is wrong") {
  Pair pair;
  SGD optimizer(pair, {.momentum = .9});
  StateDict state;
  state.add("weight.momentum", zeros<double>({2}));
  state.add("weight.exp_avg", zeros<double>({3, 2}));
  state.add("other.step", scalar<std::int64_t>(1));
  CHECK_THROWS_WITH(optimizer.load_state_dict(state),
                    "load_state_dict: weight.momentum is float64 [2] but must be float64 [3, 2]; weight.step is missing; "
                    "weight.exp_avg is unexpected; other.step is unexpected");
  CHECK(optimizer.state_dict().size() == 1);
}

TEST_CASE("a state in which a moment is missing is refused, not read as another one") {
  Tensor<double> p = ones<double>({3}).set_requires_grad();
  optim::AdamW<double> adamw(std::vector<Tensor<double>>{p});
  fill_grad(p, 1);
  adamw.step();
  StateDict part;
  for (const auto& [name, tensor] : adamw.state_dict())
    if (name != "0.exp_avg") part.add(name, tensor);
  CHECK_THROWS_WITH(adamw.load_state_dict(part), "load_state_dict: 0.exp_avg is missing");
}

TEST_CASE("a bfloat16 parameter follows a float master, so that small steps add up") {
  Tensor<bfloat16> p = full<bfloat16>({40}, bfloat16(1));
  p.set_requires_grad();
  optim::SGD<bfloat16> sgd(std::vector<Tensor<bfloat16>>{p}, {.lr = 1e-4});
  for (int i = 0; i < 100; ++i) {
    fill_grad(p, 1);
    sgd.step();
  }
  CHECK(static_cast<float>(p.data()[39]) == static_cast<float>(bfloat16(0.99f)));  // without a master it would stay 1
  no_grad([&] { p.fill_(bfloat16(2)); });                                          // written to by somebody else: the master follows
  sgd.step();
  CHECK(static_cast<float>(p.data()[0]) == 2.f);
}

TEST_CASE("HP17 a thousand steps of 0.001 from 1: lost in bfloat16 alone, kept by the optimizer's float master") {
  Tensor<bfloat16> alone = full<bfloat16>({1}, bfloat16(1));
  for (int i = 0; i < 1000; ++i) alone = add(alone, 0.001f);
  CHECK(static_cast<float>(alone.item()) == 1.f);
  Tensor<bfloat16> p = full<bfloat16>({1}, bfloat16(1)).set_requires_grad();
  optim::SGD<bfloat16> sgd(std::vector<Tensor<bfloat16>>{p}, {.lr = 0.001});
  for (int i = 0; i < 1000; ++i) {
    fill_grad(p, -1);
    sgd.step();
  }
  CHECK(static_cast<float>(p.item()) == 2.f);
}

TEST_CASE("pure bfloat16 with stochastic rounding: small steps count on average, no master is kept, a resumed run has the same bits") {
  const auto steps = [](Tensor<bfloat16>& p, optim::AdamW<bfloat16>& adamw, int count) {
    for (int i = 0; i < count; ++i) {
      fill_grad(p, 1);
      adamw.step();
    }
  };
  Tensor<bfloat16> p = full<bfloat16>({4096}, bfloat16(1)).set_requires_grad();
  optim::AdamW<bfloat16> adamw(std::vector<Tensor<bfloat16>>{p}, {.lr = 1e-3, .weight_decay = 0});
  adamw.round_stochastically(5);
  steps(p, adamw, 50);
  Tensor<bfloat16> q = p.detach().clone().set_requires_grad();
  optim::AdamW<bfloat16> resumed(std::vector<Tensor<bfloat16>>{q}, {.lr = 1e-3, .weight_decay = 0});
  resumed.round_stochastically(5);
  resumed.load_state_dict(adamw.state_dict());
  steps(p, adamw, 50);
  steps(q, resumed, 50);
  CHECK(std::memcmp(p.data(), q.data(), 8192) == 0);
  CHECK(adamw.state_dict().find("0.master") == nullptr);
  double total = 0;
  for (const bfloat16 value : p.values()) total += static_cast<double>(value);
  CHECK(total / 4096 == Approx(0.9).margin(0.001));  // rounded to nearest they would all still be 1
}

TEST_CASE("one thread or two, the same bits") {
  const auto run = [](int threads) {
    set_num_threads(threads);
    Tensor<float> p = arange<float>(0, 100000).set_requires_grad();
    optim::AdamW<float> optimizer(std::vector<Tensor<float>>{p});
    p.set_grad(p.detach().clone());
    optimizer.step();
    return p;
  };
  const auto one = run(1), two = run(2);
  set_num_threads(1);
  CHECK(std::memcmp(one.data(), two.data(), 400000) == 0);
}
