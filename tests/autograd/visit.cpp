// Visiting the parts of a struct by name.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/visit.hpp>

#include <minitorch/autograd/autograd.hpp>
#include <tests/catch.hpp>

using namespace minitorch;

namespace {

struct Inner {
  Tensor<double> weight = zeros<double>({2}).set_requires_grad();
  Tensor<double> absent;
  template <class V>
  void visit(V&& v) {
    v("weight", weight);
    v("absent", absent);
  }
};

struct Outer {
  std::vector<Inner> layers{std::size_t{2}};
  std::tuple<Inner, Tensor<std::int64_t>> pair{Inner{}, zeros<std::int64_t>({3})};
  std::optional<Inner> maybe;
  Inner last;
  template <class V>
  void visit(V&& v) {
    v("layers", layers);
    v("pair", pair);
    v("maybe", maybe);
    v("last", last);
  }
};

std::vector<std::string> names(Outer& module) {
  std::vector<std::string> found;
  for_each_tensor(module, [&](const std::string& name, auto&) { found.push_back(name); });
  return found;
}

}  // namespace

TEST_CASE("tensors are visited in order with dotted names; undefined ones and empty parts are left out") {
  Outer module;
  CHECK(names(module) == std::vector<std::string>{"layers.0.weight", "layers.1.weight", "pair.0.weight", "pair.1", "last.weight"});
  module.maybe.emplace();
  CHECK(names(module)[4] == "maybe.weight");
}

TEST_CASE("parameters are the tensors that require a gradient, each once") {
  Outer module;
  module.last.weight = module.layers[0].weight;  // tied
  module.layers[1].weight.set_requires_grad(false);
  std::vector<std::string> found;
  for (const auto& parameter : named_parameters<double>(module)) found.push_back(parameter.name);
  CHECK(found == std::vector<std::string>{"layers.0.weight", "pair.0.weight"});
  CHECK_THROWS_WITH(named_parameters<float>(module), "parameters: layers.0.weight is float64, not float32");
}

TEST_CASE("modules are visited outer first") {
  Outer module;
  std::vector<std::string> found;
  for_each_module(module, [&](const std::string& name, auto&) { found.push_back(name); });
  CHECK(found == std::vector<std::string>{"", "layers.0", "layers.1", "pair.0", "last"});
  CHECK(Module<Outer>);
  CHECK_FALSE(Module<Tensor<double>>);
}
