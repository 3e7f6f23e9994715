// Modules: cloning, saving, loading, switching.
// SPDX-License-Identifier: MIT
#include <minitorch/nn/module.hpp>

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/nn/summary.hpp>
#include <tests/catch.hpp>

using namespace minitorch;

namespace {

struct Part : nn::detail::MoveOnly {
  explicit Part(double value) : weight(full<double>({2}, value).set_requires_grad()) {}
  Part clone() const { return Part(nn::detail::Cloner::copy(weight)); }
  template <class V>
  void visit(V&& v) {
    v("weight", weight);
  }
  Tensor<double> weight;

 private:
  explicit Part(Tensor<double> w) : weight(std::move(w)) {}
};

struct Switch {
  bool training = true;
  template <class V>
  void visit(V&&) {}
};

struct Net {  // an aggregate, as users write them
  Part first{1}, second{2};
  std::vector<Part> more;
  Tensor<std::int64_t> counts = zeros<std::int64_t>({1});
  Switch dropout;
  float not_visited = 0.5f;
  template <class V>
  void visit(V&& v) {
    v("first", first);
    v("second", second);
    v("more", more);
    v("counts", counts);
    v("dropout", dropout);
  }
};

}  // namespace

static_assert(!std::is_copy_constructible_v<Part> && !std::is_copy_constructible_v<Net>);
static_assert(std::is_nothrow_move_constructible_v<Part> && std::is_move_assignable_v<Net>);

TEST_CASE("a clone shares nothing and carries what is not visited") {
  Net net;
  net.more.push_back(Part(3));
  net.not_visited = 0.75f;
  net.first.weight.set_grad(ones<double>({2}));
  Net copy = nn::clone(net);
  CHECK(copy.not_visited == 0.75f);
  CHECK(copy.more[0].weight.data()[0] == 3);
  CHECK(copy.first.weight.requires_grad());
  CHECK_FALSE(copy.counts.body()->node);
  CHECK_FALSE(copy.first.weight.grad().defined());
  no_grad([&] { net.first.weight.fill_(9); });
  CHECK(copy.first.weight.data()[0] == 1);
}

TEST_CASE("a moved module keeps its tensors: what holds them stays linked") {
  Net net;
  const double* data = net.first.weight.data();
  const Net moved = std::move(net);
  CHECK(moved.first.weight.data() == data);
}

TEST_CASE("counting and listing") {
  Net net;
  net.more.push_back(Part(3));
  CHECK(nn::parameters<double>(net).size() == 3);
  CHECK(nn::parameter_count(net) == 6);
  net.second.weight = net.first.weight;
  CHECK(nn::parameter_count(net) == 4);
  nn::set_requires_grad(net.more[0], false);
  CHECK(nn::parameter_count(net) == 2);
}

TEST_CASE("a state is loaded in place") {
  Net net, other;
  nn::load_state_dict(net, nn::state_dict(other));
  StateDict state;
  state.add("first.weight", tensor<double>({7, 8}));
  state.add("second.weight", tensor<double>({9, 10}));
  state.add("counts", tensor<std::int64_t>({5}));
  const Tensor<double> held = net.first.weight;
  nn::load_state_dict(net, state);
  CHECK(held.data()[1] == 8);
  CHECK(net.counts.item() == 5);
  CHECK(other.first.weight.data()[0] == 1);
}

TEST_CASE("one error names all that does not fit, and nothing has changed") {
  Net net;
  StateDict state;
  state.add("first.weight", tensor<float>({7, 8}));
  state.add("second.weight", tensor<double>({1, 2, 3}));
  state.add("third.weight", tensor<double>({1}));
  CHECK_THROWS_WITH(nn::load_state_dict(net, state),
                    "load_state_dict: first.weight is float32 [2] but must be float64 [2]; second.weight is float64 [3] but must be "
                    "float64 [2]; counts is missing; third.weight is unexpected");
  CHECK(net.first.weight.data()[0] == 1);
}

TEST_CASE("train and eval reach every part") {
  Net net;
  nn::eval(net);
  CHECK_FALSE(net.dropout.training);
  nn::train(net);
  CHECK(net.dropout.training);
}

TEST_CASE("the summary is a table") {
  Net net;
  net.second.weight = net.first.weight;
  CHECK(nn::summary(net) ==
        "name           type     shape  numbers   bytes\n"
        "first.weight   float64  [2]          2      16\n"
        "second.weight  float64  [2]          2  shared\n"
        "counts         int64    [1]          1       8\n"
        "parameters                           2      24\n");
}
