// What the Markdown files claim of the tree: links lead somewhere, commands exist, CMake lines are those of the consumer tests.
// SPDX-License-Identifier: MIT
#include <regex>

#include <tests/catch.hpp>
#include <tests/project/sources.hpp>

namespace {

std::vector<sources::File> documents() {
  auto files = sources::find({"docs", "benchmarks", "examples"}, {".md"});
  for (const std::string name : {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"})
    files.push_back({name, sources::read_lines(sources::root() + "/" + name)});
  return files;
}

// Calls visit(block's language or "", line) for every line.
template <class Visit>
void for_each_line(const sources::File& file, Visit visit) {
  std::string block;
  bool inside = false;
  for (const std::string& line : file.lines) {
    if (line.starts_with("```")) {
      inside = !inside;
      block = inside ? line.substr(3) : "";
    } else {
      visit(block, line);
    }
  }
}

std::string without_comment(const std::string& line) {
  const std::string code = line.substr(0, line.find(" #"));
  return code.substr(0, code.find_last_not_of(' ') + 1);
}

bool exists(const std::string& path) { return std::filesystem::exists(sources::root() + "/" + path); }

}  // namespace

TEST_CASE("links between documents lead to files") {
  const std::regex link(R"(\]\(([^)#:]+)(#[^)]*)?\))");
  int found = 0;
  for (const auto& file : documents()) {
    REQUIRE(file.lines.size() > 1);
    const std::string folder = std::filesystem::path(file.path).parent_path().string();
    for_each_line(file, [&](const std::string& block, const std::string& line) {
      if (!block.empty()) return;
      for (std::sregex_iterator match(line.begin(), line.end(), link), end; match != end; ++match, ++found) {
        INFO(file.path << ": " << (*match)[1]);
        CHECK(exists((folder.empty() ? "" : folder + "/") + (*match)[1].str()));
      }
    });
  }
  CHECK(found > 0);
}

TEST_CASE("scripts that a document names exist, and so do their examples, benchmarks and stages") {
  const std::regex command(R"((^|[^\w/])(scripts/(\w+))( (\w+))?)");
  int found = 0;
  for (const auto& file : documents())
    for_each_line(file, [&](const std::string& block, const std::string& text) {
      const std::string line = block == "sh" ? without_comment(text) : text;
      for (std::sregex_iterator match(line.begin(), line.end(), command), end; match != end; ++match, ++found) {
        INFO(file.path << ": " << line);
        const std::string script = (*match)[3], argument = block == "sh" ? (*match)[5].str() : "";
        CHECK(exists("scripts/" + script));
        if (script == "demo" && !argument.empty()) CHECK(exists("examples/" + argument + ".cpp"));
        if (script == "bench" && !argument.empty()) CHECK(exists("benchmarks/" + argument + ".cpp"));
      }
    });
  CHECK(found > 0);
}

TEST_CASE("the CMake lines of the README are those that consumer projects are tested with") {
  std::string tested;
  for (const auto& file : sources::find({"tests/consumers"}, {".txt"}))
    for (const std::string& line : file.lines) tested += line + "\n";
  for_each_line({"README.md", sources::read_lines(sources::root() + "/README.md")}, [&](const std::string& block, const std::string& line) {
    if (block != "cmake") return;
    INFO(line);
    std::string code = without_comment(line);
    if (code.starts_with("add_subdirectory")) code = "add_subdirectory(${MINITORCH_SOURCE_DIR} minitorch)";
    CHECK(tested.find(code + "\n") != std::string::npos);
  });
}
