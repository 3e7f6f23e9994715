// RunDirectory: the checkpoints of a run. Each is a directory that appears whole or not at all; the newest is where a run continues.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <minitorch/io/safetensors.hpp>

namespace minitorch::train {

class RunDirectory {
 public:
  using Files = std::vector<std::pair<std::string, io::Safetensors>>;

  // Makes the directory if it is not there, and takes away what a save that was killed has left. Throws IoError.
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) fail<IoError>("run: ", path_.string(), ": ", error.message());
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      if (entry.path().extension() == ".tmp") std::filesystem::remove_all(entry.path(), error);
  }

  const std::filesystem::path& path() const { return path_; }

  // The steps of the checkpoints, oldest first.
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      std::int64_t step = 0;
      if (!name.starts_with(prefix)) continue;
      const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), step);
      if (error == std::errc() && end == name.data() + name.size()) found.push_back(step);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  std::filesystem::path checkpoint(std::int64_t step) const {
    std::string digits = concat(step);
    digits.insert(0, 6 - (std::min)(digits.size(), std::size_t{6}), '0');
    return path_ / (std::string(prefix) + digits);
  }

  // Writes a checkpoint and then forgets all but the newest `keep`. One of the same step is the same and stays. Throws IoError, and
  // then the older ones are as they were.
  void save(std::int64_t step, const Files& files, std::size_t keep = 2) const {
    const std::filesystem::path final = checkpoint(step), temporary = final.string() + ".tmp";
    if (!std::filesystem::exists(final)) {
      try {
        std::filesystem::remove_all(temporary);
        std::filesystem::create_directory(temporary);
        for (const auto& [name, content] : files) io::save_safetensors(temporary / name, content.tensors, content.metadata);
        std::filesystem::rename(temporary, final);
        io::sync_directory(path_);
      } catch (const std::exception& error) {
        std::error_code ignored;
        std::filesystem::remove_all(temporary, ignored);
        fail<IoError>("save: checkpoint of step ", step, ": ", error.what());
      }
    }
    const auto all = steps();
    for (std::size_t i = 0; i + keep < all.size(); ++i) {
      const std::filesystem::path old = checkpoint(all[i]), doomed = old.string() + ".tmp";  // never half a checkpoint
      std::filesystem::rename(old, doomed);
      std::filesystem::remove_all(doomed);
    }
  }

 private:
  static constexpr std::string_view prefix = "checkpoint-";
  std::filesystem::path path_;
};

}  // namespace minitorch::train
