// Line charts as SVG: one or more beside each other, over the same x.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace support {

struct Chart {
  std::string title;
  std::vector<std::vector<double>> lines;  // one a name, as many values as x has; from 0 up
};

struct Plot {
  std::string title, x_label;
  std::vector<double> x;           // ascending, at least two
  std::vector<std::string> names;  // of the lines, in the legend; at most four
  std::vector<Chart> charts;
};

// A complete SVG document.
std::string to_svg(const Plot& plot);

}  // namespace support
