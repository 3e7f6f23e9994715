// The layer rule: a folder of include/minitorch includes itself and what stands below it, and nothing includes in a circle.
// SPDX-License-Identifier: MIT
#include <functional>
#include <map>
#include <set>

#include <tests/catch.hpp>
#include <tests/project/sources.hpp>

namespace {

const std::map<std::string, std::set<std::string>> stands_on = {
    {"core", {}},
    {"memory", {"core"}},
    {"kernels", {"memory"}},
    {"autograd", {"kernels"}},
    {"ops", {"autograd"}},
    {"nn", {"ops"}},
    {"optim", {"autograd"}},
    {"comm", {"kernels"}},
    {"parallel", {"nn", "optim", "comm"}},
    {"io", {"autograd"}},
    {"train", {"nn", "optim", "io"}},
    {"compiled", {"train", "parallel"}},
};

bool may_include(const std::string& from, const std::string& to) {
  if (from == to) return true;
  const auto& below = stands_on.at(from);
  return std::ranges::any_of(below, [&](const std::string& layer) { return may_include(layer, to); });
}

std::string layer_of(const std::string& header) { return sources::File{"include/" + header, {}}.layer(); }

// Header -> what it includes, over all of include/minitorch.
std::map<std::string, std::vector<std::string>> include_graph() {
  std::map<std::string, std::vector<std::string>> graph;
  for (const auto& file : sources::headers()) graph[file.path.substr(8)] = file.own_includes();
  return graph;
}

std::set<std::string> reachable_from(const std::string& header, const std::map<std::string, std::vector<std::string>>& graph) {
  std::set<std::string> seen;
  std::vector<std::string> next{header};
  while (!next.empty()) {
    const std::string current = next.back();
    next.pop_back();
    if (!seen.insert(current).second) continue;
    for (const auto& included : graph.at(current)) next.push_back(included);
  }
  return seen;
}

}  // namespace

TEST_CASE("every folder is a layer of the table") {
  REQUIRE(sources::headers().size() > 5);
  for (const auto& file : sources::headers()) {
    INFO(file.path);
    if (!file.layer().empty()) CHECK(stands_on.contains(file.layer()));
  }
}

TEST_CASE("the rule allows what is below and nothing else") {
  CHECK(may_include("parallel", "core"));
  CHECK(may_include("train", "kernels"));
  CHECK_FALSE(may_include("comm", "autograd"));
  CHECK_FALSE(may_include("optim", "ops"));
  CHECK_FALSE(may_include("core", "memory"));
}

TEST_CASE("a folder includes itself and lower layers only") {
  for (const auto& file : sources::headers()) {
    if (file.layer().empty()) continue;  // umbrellas include everything
    for (const auto& included : file.own_includes()) {
      INFO(file.path << " includes " << included);
      const bool top = layer_of(included).empty();
      CHECK((top ? included == "minitorch/fwd.hpp" || included == "minitorch/version.hpp" : may_include(file.layer(), layer_of(included))));
    }
  }
}

TEST_CASE("every included header exists and none includes itself by a detour") {
  const auto graph = include_graph();
  std::map<std::string, int> state;  // 1: being visited, 2: done
  std::function<void(const std::string&)> visit = [&](const std::string& header) {
    state[header] = 1;
    for (const auto& included : graph.at(header)) {
      INFO(header << " includes " << included);
      REQUIRE(graph.contains(included));
      CHECK(state[included] != 1);
      if (state[included] == 0) visit(included);
    }
    state[header] = 2;
  };
  for (const auto& [header, includes] : graph)
    if (state[header] == 0) visit(header);
}

TEST_CASE("the umbrellas reach every header that a user writes with") {
  const auto graph = include_graph();
  const std::set<std::string> portable{"autograd", "ops", "nn", "optim", "io", "train"}, processes{"comm", "parallel"};
  for (const std::string umbrella : {"minitorch/minitorch.hpp", "minitorch/parallel.hpp"}) {
    if (!graph.contains(umbrella)) continue;
    const auto reached = reachable_from(umbrella, graph);
    for (const auto& [header, includes] : graph) {
      INFO(umbrella << " and " << header);
      if (processes.contains(layer_of(header))) CHECK(reached.contains(header) == (umbrella == "minitorch/parallel.hpp"));
      if (portable.contains(layer_of(header))) CHECK(reached.contains(header));
    }
  }
}
