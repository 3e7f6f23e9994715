// What tensor parallelism costs in communication, inside a machine and between machines.
// SPDX-License-Identifier: MIT
#include <examples/parts/communication_cost.hpp>

namespace examples {

const support::Part communication_cost_part{"communication_cost",
                                            "What one layer costs in communication (GPT-3: h = 12288, 2048 tokens, t = 8)",
                                            {{"all_reduce_megabytes", "values that one all-reduce carries, MB"},
                                             {"ring_megabytes", "what a ring sends of it per device, 2 (t - 1) / t, MB"},
                                             {"layer_megabytes", "4 all-reduces, forward and backward, MB"},
                                             {"layer_teraflops", "forward and backward, 3 x 24 x tokens x h^2, TFLOP"},
                                             {"compute_milliseconds", "at the peak of t devices, ms"},
                                             {"inside_milliseconds", "communication inside a machine, ms"},
                                             {"inside_share", "of the computation"},
                                             {"between_milliseconds", "communication between machines, ms"},
                                             {"between_share", "of the computation"}}};

void CostOptions::flags(support::Program& program) {
  program.flag("--hidden", hidden, "Width of the layer", 1, 1e6);
  program.flag("--tokens", tokens, "Tokens of a step", 1, 1e9);
  program.flag("--ranks", ranks, "Ranks that share the layer", 1, 1e4);
  program.flag("--value-bytes", value_bytes, "Bytes of one value", 1, 8);
  program.flag("--peak", peak, "FLOP/s of one rank", 1, 1e18);
  program.flag("--inside", inside, "Bytes/s of one rank inside a machine", 1, 1e15);
  program.flag("--between", between, "Bytes/s of one rank between machines", 1, 1e15);
}

void communication_cost(support::Report& report, const CostOptions& o) {
  const double carried = o.tokens * o.hidden * o.value_bytes, ring = 2 * (o.ranks - 1) / o.ranks * carried, layer = 4 * ring;
  const double flops = 3 * 24 * o.tokens * o.hidden * o.hidden, compute = flops / (o.peak * o.ranks);
  const double inside = layer / o.inside, between = layer / o.between;
  report.begin(communication_cost_part);
  const auto line = [&](const char* key, double value, double reference, double bound) {
    if (o.is_default())
      report.check(key, value, reference, bound);
    else
      report.show(key, value);
  };
  line("all_reduce_megabytes", carried / 1e6, 50.3, 0.05);
  line("ring_megabytes", ring / 1e6, 88.1, 0.05);
  line("layer_megabytes", layer / 1e6, 352.3, 0.05);
  line("layer_teraflops", flops / 1e12, 22.27, 0.005);
  line("compute_milliseconds", compute * 1e3, 17.84, 0.005);
  line("inside_milliseconds", inside * 1e3, 1.17, 0.005);
  line("inside_share", inside / compute, 0.066, 0.0005);
  line("between_milliseconds", between * 1e3, 56.4, 0.05);
  line("between_share", between / compute, 3.16, 0.005);
  report.say(
      "Keep the ranks that share a layer inside one machine. This counts 3 passes; with full recomputation there are 4, and published "
      "throughputs often count them.");
}

}  // namespace examples
