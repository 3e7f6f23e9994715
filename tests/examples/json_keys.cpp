// Checks what --json printed: exactly one object, snake_case keys, each of them documented in --help. json_keys JSON HELP.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include <nlohmann/json.hpp>

namespace {

std::string content(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int count_wrong(const nlohmann::json& value, const std::string& help) {
  static const std::regex snake_case("[a-z][a-z0-9]*(_[a-z0-9]+)*");
  int wrong = 0;
  if (!value.is_object()) return 0;
  for (const auto& [key, inner] : value.items()) {
    if (!std::regex_match(key, snake_case) || !std::regex_search(help, std::regex("\\b" + key + "\\b"))) {
      std::printf("key %s is not in snake_case or not in --help\n", key.c_str());
      ++wrong;
    }
    wrong += count_wrong(inner, help);
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const auto root = nlohmann::json::parse(content(argv[1]));
    if (!root.is_object() || !root.at("ok").get<bool>()) throw std::runtime_error("no object that says ok");
    return count_wrong(root, content(argv[2])) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("%s\n%s\n", error.what(), content(argv[1]).c_str());
    return 1;
  }
}
