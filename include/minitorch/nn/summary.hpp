// A table of a module's tensors: name, type, shape, number and bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <minitorch/nn/module.hpp>

namespace minitorch::nn {

// One line a tensor and a last one with the totals. Parameters count once, however often they are visited.
template <Module M>
std::string summary(M& module) {
  using Row = std::array<std::string, 5>;
  std::vector<Row> rows{{"name", "type", "shape", "numbers", "bytes"}};
  std::int64_t bytes = 0;
  std::vector<const void*> seen;
  for_each_tensor(module, [&](const std::string& name, const auto& tensor) {
    const AnyTensor any(tensor);
    const bool shared = std::find(seen.begin(), seen.end(), any.buffer()) != seen.end();
    seen.push_back(any.buffer());
    if (!shared) bytes += any.bytes();
    rows.push_back(
        {name, concat(dtype_name(any.dtype())), concat(any.shape()), concat(any.numel()), shared ? "shared" : concat(any.bytes())});
  });
  rows.push_back({"parameters", "", "", concat(parameter_count(module)), concat(bytes)});
  std::array<std::size_t, 5> width{};
  for (const Row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = (std::max)(width[c], row[c].size());
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(width[c] - row[c].size(), ' ');
      text += c < 3 ? row[c] + padding : padding + row[c];  // numbers stand at the right
      text += c + 1 < row.size() ? "  " : "\n";
    }
  }
  return text;
}

}  // namespace minitorch::nn
