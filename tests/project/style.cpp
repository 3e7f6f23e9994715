// What a tool can check of the house style: first lines, lengths, and what a header must not contain.
// SPDX-License-Identifier: MIT
#include <regex>
#include <set>

#include <tests/catch.hpp>
#include <tests/project/sources.hpp>

namespace {

// CHECKs that no line of the files matches, the exempted file aside.
void check_absent(const std::vector<sources::File>& files, const std::string& pattern, const std::string& exempt = "") {
  const std::regex regex(pattern);
  for (const auto& file : files) {
    if (file.path == exempt) continue;
    for (std::size_t n = 0; n < file.lines.size(); ++n) {
      INFO(file.path << ":" << n + 1 << ": " << file.lines[n]);
      CHECK_FALSE(std::regex_search(file.lines[n], regex));
    }
  }
}

std::vector<sources::File> all_code() { return sources::find({"include", "src", "tests", "examples", "benchmarks"}, {".hpp", ".cpp"}); }

}  // namespace

TEST_CASE("a file says what it is, then its licence") {
  REQUIRE(all_code().size() > 10);
  for (const auto& file : all_code()) {
    INFO(file.path);
    REQUIRE(file.lines.size() > 2);
    CHECK(file.lines[0].starts_with("// "));
    CHECK(file.lines[1] == "// SPDX-License-Identifier: MIT");
  }
}

TEST_CASE("files stay under 400 lines") {
  for (const auto& file : all_code()) {
    INFO(file.path);
    CHECK(file.lines.size() < 400);
  }
}

TEST_CASE("a header is guarded, prints nothing and defines no macro but the version") {
  for (const auto& file : sources::headers()) {
    INFO(file.path);
    CHECK(std::ranges::find(file.lines, "#pragma once") != file.lines.end());
  }
  check_absent(sources::headers(), R"(#\s*include\s*<(iostream|sstream|iomanip|regex)>)");
  check_absent(sources::headers(), R"(^\s*#\s*define\s+(?!MINITORCH_VERSION_(MAJOR|MINOR|PATCH)\b))");
}

TEST_CASE("a header can be included anywhere: no static or unnamed namespaces, no using namespace") {
  check_absent(sources::headers(), R"(^\s*using namespace )");
  check_absent(sources::headers(), R"(^\s*(inline\s+)?namespace\s*\{)");
  check_absent(sources::headers(), R"(^static )");
}

TEST_CASE("only one header includes Eigen") {
  check_absent(sources::headers(), R"(#\s*include\s*[<"](unsupported/|eigen3/)*Eigen/)", "include/minitorch/core/eigen.hpp");
}

TEST_CASE("no header asks for the compiler's instruction set: targets are explicit") {
  check_absent(sources::headers(), R"(__(AVX|SSE|FMA|F16C|BMI|ARM_NEON|ARM_FEATURE)[A-Z0-9_]*)");
}

TEST_CASE("HP24 no header asks numeric_limits of half or bfloat16: Eigen 3.4 has the wrong epsilon and round_error") {
  check_absent(sources::headers(), R"(numeric_limits<(half|bfloat16)>)");
  check_absent(sources::headers(), R"(numeric_limits<[A-Z]>::(epsilon|round_error))",
               "include/minitorch/kernels/math/log.hpp");  // float, double
}

TEST_CASE("std::min and std::max are written so that macros of these names do no harm") {
  check_absent(sources::headers(), R"((^|[^(\w])std::(min|max)\()");
  check_absent(sources::headers(), R"(([^(]|^)std::numeric_limits<.*>::(min|max)\(\))");
}

TEST_CASE("each layer names the operating system in one header") {
  std::set<std::string> seen;
  const std::regex system(R"(#\s*include\s*<(sys/|unistd\.h|fcntl\.h|signal\.h|csignal|poll\.h|sched\.h|linux/))");
  for (const auto& file : sources::headers()) {
    const bool names_it = std::ranges::any_of(file.lines, [&](const std::string& line) { return std::regex_search(line, system); });
    INFO(file.path);
    if (names_it) CHECK(seen.insert(file.layer()).second);
  }
}
