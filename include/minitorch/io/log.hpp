// Metrics as lines of a file: comma-separated values or, for a name that ends in .jsonl, one JSON object a line.
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <minitorch/io/file.hpp>
#include <minitorch/io/json.hpp>

namespace minitorch::io {

// The rows of a run, the first column counting steps. Every row is in the file when row() returns; numbers read back exactly.
class MetricsLog {
 public:
  // Starts a new file, or keeps the rows of an old one up to and including step `keep`: what a resumed run continues.
  // Throws IoError, also for an old file with other columns.
  MetricsLog(std::filesystem::path path, std::vector<std::string> columns, std::int64_t keep = -1)
      : path_(std::move(path)), columns_(std::move(columns)), json_(path_.extension() == ".jsonl") {
    std::string content = json_ ? "" : header();
    if (keep >= 0 && std::filesystem::exists(path_)) content = kept_rows(read_file(path_), keep);
    write_file(path_, content);
  }

  // One row; NaN stands for a column without a value. Throws ArgumentError for another number of values, IoError.
  void row(std::int64_t step, std::initializer_list<double> values) {
    if (values.size() + 1 != columns_.size())
      fail<ArgumentError>("log: ", path_.string(), " has ", columns_.size(), " columns, got ", values.size() + 1, " values");
    std::string line = json_ ? concat('{', json_quoted(columns_[0]), ":", step) : concat(step);
    std::size_t column = 0;
    for (double value : values) {
      ++column;
      if (!json_) line += ',';
      if (!std::isfinite(value) && (json_ || std::isnan(value))) continue;
      if (json_) line += concat(',', json_quoted(columns_[column]), ':');
      line += concat(value);
    }
    line += json_ ? "}\n" : "\n";
    const detail::Descriptor file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (file.get() < 0 || !detail::write_all(file.get(), bytes_of(line))) detail::fail_errno("log", path_);
  }

 private:
  std::string header() const {
    std::string line;
    for (const std::string& column : columns_) line += (line.empty() ? "" : ",") + column;
    return line + '\n';
  }

  std::string kept_rows(std::string_view old, std::int64_t keep) const {
    std::string content;
    if (!json_) {
      if (!old.starts_with(header()))
        fail<IoError>("log: ", path_.string(), " has other columns than ", header().substr(0, header().size() - 1));
      content = header();
      old.remove_prefix(content.size());
    }
    const std::string before = json_ ? concat('{', json_quoted(columns_[0]), ':') : "";
    while (!old.empty()) {
      const std::size_t end = old.find('\n');
      std::int64_t step = 0;
      const std::string_view line = old.substr(0, end);
      if (end == old.npos || !line.starts_with(before)) break;  // the end of a row that was being written
      const auto [rest, error] = std::from_chars(line.data() + before.size(), line.data() + line.size(), step);
      if (error != std::errc() || step > keep) break;
      content += line;
      content += '\n';
      old.remove_prefix(end + 1);
    }
    return content;
  }

  std::filesystem::path path_;
  std::vector<std::string> columns_;
  bool json_;
};

}  // namespace minitorch::io
