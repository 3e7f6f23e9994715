// Every operation of the library has its line of expect_op.
// SPDX-License-Identifier: MIT
#include <map>
#include <regex>
#include <set>

#include <tests/catch.hpp>
#include <tests/project/sources.hpp>

namespace {

// Their results are indices: there is no gradient to check.
const std::set<std::string> without_gradient{"argmax", "argmin"};

std::string text_of(const sources::File& file) {
  std::string text;
  for (const std::string& line : file.lines) text += line + '\n';
  return text;
}

// The names of the operations (structs derived from Operation, with an object) and their headers.
std::map<std::string, std::string> operations() {
  static const std::regex structs(R"(struct (\w+) : Operation<)"), objects(R"(inline constexpr (\w+) (\w+);)");
  std::map<std::string, std::string> found;
  for (const auto& file : sources::find({"include/minitorch/autograd", "include/minitorch/ops"}, {".hpp"})) {
    const std::string text = text_of(file);
    std::set<std::string> types;
    for (std::sregex_iterator match(text.begin(), text.end(), structs), end; match != end; ++match) types.insert((*match)[1]);
    for (std::sregex_iterator match(text.begin(), text.end(), objects), end; match != end; ++match)
      if (types.erase((*match)[1]) > 0) found[(*match)[2]] = file.path;
    INFO(file.path << " declares an operation without an object: " << (types.empty() ? "" : *types.begin()));
    CHECK(types.empty());
  }
  return found;
}

// The test cases that call expect_op, as text.
std::vector<std::string> cases_with_expect_op() {
  std::vector<std::string> cases;
  for (const auto& file : sources::find({"tests/autograd", "tests/ops"}, {".cpp"})) {
    const std::string text = text_of(file);
    for (auto at = text.find("TEST_CASE("); at != std::string::npos;) {
      const auto next = text.find("TEST_CASE(", at + 1);
      std::string body = text.substr(at, next - at);
      if (body.find("expect_op(") != std::string::npos) cases.push_back(std::move(body));
      at = next;
    }
  }
  return cases;
}

}  // namespace

TEST_CASE("every operation has its expect_op") {
  const auto all = operations();
  const auto cases = cases_with_expect_op();
  REQUIRE(all.size() > 60);
  for (const auto& [name, header] : all) {
    INFO(name << " of " << header << " is in no test case with expect_op");
    const std::string call = "mt::" + name + "(";
    const bool expected = std::ranges::any_of(cases, [&](const std::string& body) { return body.find(call) != std::string::npos; });
    CHECK((expected || without_gradient.contains(name)));
  }
}
