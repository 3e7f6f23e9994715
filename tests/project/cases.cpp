// The manifest of cases (tests/cases.tsv): every row names the test that carries its id, or says why there is none.
// SPDX-License-Identifier: MIT
#include <set>

#include <tests/catch.hpp>
#include <tests/project/sources.hpp>

namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line)
    if (c == '\t')
      fields.emplace_back();
    else
      fields.back() += c;
  return fields;
}

// Whether a test case of the file has the id as a word of its name.
bool tests_case(const std::string& path, const std::string& id) {
  for (const std::string& line : sources::read_lines(sources::root() + "/" + path)) {
    const auto start = line.find("TEST_CASE(\"");
    if (start == std::string::npos) continue;
    const std::string name = " " + line.substr(start + 11, line.find('"', start + 11) - start - 11) + " ";
    for (auto at = name.find(id); at != std::string::npos; at = name.find(id, at + 1))
      if (std::string(" ,:;()").find(name[at - 1]) != std::string::npos &&
          std::string(" ,:;()").find(name[at + id.size()]) != std::string::npos)
        return true;
  }
  return false;
}

}  // namespace

TEST_CASE("every case names its test or the reason why there is none") {
  const auto rows = sources::read_lines(sources::root() + "/tests/cases.tsv");
  REQUIRE(rows.size() > 200);
  std::set<std::string> ids;
  for (std::size_t n = 1; n < rows.size(); ++n) {
    INFO("tests/cases.tsv:" << n + 1 << " (scripts/cases brings the manifest up to date)");
    const auto fields = split(rows[n]);
    REQUIRE(fields.size() == 8);
    CHECK(ids.insert(fields[0]).second);
    if (fields[1].starts_with("-: "))
      CHECK(fields[1].size() > 6);
    else
      CHECK(tests_case(fields[1], fields[0]));
  }
}
