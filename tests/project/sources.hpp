// The project's own files as text: what the tests of its structure read.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sources {

struct File {
  std::string path;  // below the root, "include/minitorch/core/shape.hpp"
  std::vector<std::string> lines;

  // Of a header below include/minitorch: its folder, "" for the umbrellas; of a test: the layer it tests.
  std::string layer() const {
    const std::string below = path.substr(path.find('/') + (path.starts_with("include/minitorch/") ? 11 : 1));
    return below.find('/') == std::string::npos ? "" : below.substr(0, below.find('/'));
  }
  // What it includes from the library: "minitorch/core/shape.hpp".
  std::vector<std::string> own_includes() const {
    std::vector<std::string> found;
    for (const std::string& line : lines)
      if (line.starts_with("#include <minitorch/")) found.push_back(line.substr(10, line.find('>') - 10));
    return found;
  }
};

// MINITORCH_ROOT is given by CMake.
inline std::string root() { return MINITORCH_ROOT; }

inline std::vector<std::string> read_lines(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// All files below the folders (relative to the root) that have one of the extensions, by name.
inline std::vector<File> find(const std::vector<std::string>& folders, const std::vector<std::string>& extensions) {
  std::vector<File> files;
  for (const std::string& folder : folders) {
    if (!std::filesystem::exists(root() + "/" + folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root() + "/" + folder)) {
      const std::string extension = entry.path().extension().string();
      if (!entry.is_regular_file() || std::ranges::find(extensions, extension) == extensions.end()) continue;
      files.push_back({std::filesystem::relative(entry.path(), root()).string(), read_lines(entry.path())});
    }
  }
  std::ranges::sort(files, {}, &File::path);
  return files;
}

inline std::vector<File> headers() { return find({"include"}, {".hpp"}); }

}  // namespace sources
