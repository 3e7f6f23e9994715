// Memory and time of chains of blocks against their depth, as numbers and as a plot.
// SPDX-License-Identifier: MIT
#include <array>

#include <examples/parts/residual_pass.hpp>
#include <examples/support/plot.hpp>
#include <minitorch/io/file.hpp>

namespace examples {

const support::Part depth_part{"depth",
                               "Depth: chains of blocks, with --plot",
                               {{"depths", "blocks in the chain"},
                                {"plain_mib_by_depth", "everything kept: MiB at most, beyond parameters and gradients"},
                                {"block_mib_by_depth", "inputs of blocks kept: MiB at most"},
                                {"segment_mib_by_depth", "inputs of sqrt(n) segments kept: MiB at most"},
                                {"plain_ms_by_depth", "everything kept: ms a pass"},
                                {"block_ms_by_depth", "inputs of blocks kept: ms a pass"},
                                {"segment_ms_by_depth", "inputs of segments kept: ms a pass"},
                                {"plain_growth", "memory of 64 blocks over those of 16, everything kept"},
                                {"segment_growth", "the same, inputs of segments kept"},
                                {"plot", "drawn into"}}};

void check_plot(const std::filesystem::path& file) {
  const std::filesystem::path directory = file.has_parent_path() ? file.parent_path() : ".";
  if (!file.has_filename() || !std::filesystem::is_directory(directory) || std::filesystem::is_directory(file))
    throw support::Exit(2, "--plot " + file.string() + ": there must be a file name in a directory that exists");
}

void depth_plot(support::Report& report, const CheckpointExample& example, const std::filesystem::path& file) {
  struct Way {
    Kept kept;
    const char *name, *memory_key, *time_key;
  };
  constexpr std::array ways{Way{Kept::everything, "everything kept", "plain_mib_by_depth", "plain_ms_by_depth"},
                            Way{Kept::block_inputs, "inputs of blocks kept", "block_mib_by_depth", "block_ms_by_depth"},
                            Way{Kept::segment_inputs, "inputs of sqrt(n) segments kept", "segment_mib_by_depth", "segment_ms_by_depth"}};
  const std::vector<int> depths{4, 8, 16, 32, 64};
  support::Plot plot{"What recomputation saves and costs, by depth",
                     "blocks",
                     {depths.begin(), depths.end()},
                     {},
                     {{"memory of a pass, MiB", {}}, {"time of a pass, ms", {}}}};
  report.begin(depth_part);
  report.show("depths", plot.x);
  std::vector<double> growth;
  for (const Way& way : ways) {
    auto& memory = plot.charts[0].lines.emplace_back();
    auto& time = plot.charts[1].lines.emplace_back();
    for (int depth : depths) {
      const DepthCost cost = measure_depth(example, depth, way.kept);
      memory.push_back(static_cast<double>(cost.bytes) / (1 << 20));
      time.push_back(1e3 * cost.seconds);
    }
    plot.names.emplace_back(way.name);
    report.show(way.memory_key, memory);
    report.show(way.time_key, time);
    growth.push_back(memory[4] / memory[2]);
  }
  report.check("plain_growth", growth[0], 4.0, 0.4);
  report.check("segment_growth", growth[2], 2.0, 0.4);
  mt::io::write_file(file, support::to_svg(plot));
  report.show("plot", file.string());
}

}  // namespace examples
