// Flags of train_gpt, saved and restored, and the arithmetic of what ranks can divide.
// SPDX-License-Identifier: MIT
#include <bit>
#include <charconv>

#include <fmt/format.h>

#include <examples/gpt/options.hpp>

namespace examples {

void TrainOptions::flags(support::Program& program) {
  program.flag("--text", text, "A file, or 'world' for generated facts; else the King James Bible or the system's licence texts");
  program.flag("--layers", layers, "Transformer blocks", 1, 1000);
  program.flag("--dim", dim, "Width of the residual stream", 1, 100000);
  program.flag("--heads", heads, "Attention heads; they must divide the width", 1, 1000);
  program.flag("--context", context, "Characters that the model sees", 1, 100000);
  program.flag("--batch", batch, "Sequences a step", 1, 100000);
  program.flag("--steps", steps, "Training steps in all; 0 evaluates and samples", 0, 1000000000);
  program.flag("--seconds", seconds, "Stop training after this time; 0 never", 0.0, 1e9);
  program.flag("--lr", lr, "Largest learning rate: linear warm-up, then a cosine down to a tenth", 0.0, 1e30);
  program.flag("--dropout", dropout, "Share of activations dropped in training", 0.0, 0.99);
  program.flag("--dtype", dtype,
               "Scalar type of products and activations; the two narrow ones keep parameters, residual stream and gradients in float32",
               {"float64", "float32", "bfloat16", "float16"});
  program.flag("--recompute", recompute, "What the backward pass computes again: to the same bits, in less memory",
               {"none", "full", "products"});
  program.flag("--ranks", ranks, "Processes: --dp times --tp of them; 0: as many as those two say", 0, 1024);
  program.flag("--dp", dp, "Data parallel: parts of the batch; 0: what --ranks and --tp leave", 0, 1024);
  program.flag("--tp", tp, "Tensor parallel: parts of every layer; 0: what --ranks and --dp leave", 0, 1024);
  program.flag("--sequence-parallel", sequence_parallel, "Between the split layers, cut along the sequence over the ranks of --tp");
  program.flag("--virtual-shards", virtual_shards,
               "Compute in this many parts, whatever the number of ranks: a power of two; then any ranks give the same bits. 0: one a rank",
               0, 1024);
  program.flag("--seed", seed, "Of parameters, batches, dropout and samples", 0, 1000000000);
  program.flag("--out", out, "Directory of the run; a new one under runs/ by default");
  program.flag(
      "--resume", resume,
      "Continue the run in --out; its other flags come from there, but --steps, --ranks, --dp, --tp, --recompute may be given anew");
  program.flag("--model", model, "A saved model.safetensors to start from: to train on, to evaluate or to sample");
  program.flag("--eval-every", eval_every, "Steps between validations, samples and saves", 1, 1000000000);
  program.flag("--pause", pause, "Save and leave after this step, to be resumed; 0 never", 0, 1000000000);
  program.flag("--sample", sample, "Characters of the sample at the end", 0, 1000000);
  program.flag("--prompt", prompt, "What samples start from; a new line by default, or the first character of a text without one");
  program.flag("--no-progress", no_progress, "No bar, also on a terminal");
}

mt::io::Metadata TrainOptions::saved() const {
  return {{"text", text},
          {"batch", mt::concat(batch)},
          {"steps", mt::concat(steps)},
          {"lr", mt::concat(lr)},
          {"seed", mt::concat(seed)},
          {"eval_every", mt::concat(eval_every)},
          {"dtype", dtype},
          {"virtual_shards", mt::concat(virtual_shards)},
          {"sequence_parallel", sequence_parallel ? "1" : "0"}};
}

void TrainOptions::restore(const mt::io::Metadata& saved, bool keep_steps) {
  const auto text_of = [&](const char* key) {
    const auto found = saved.find(key);
    return found == saved.end() ? std::string() : found->second;
  };
  const auto number = [&](const char* key, auto& value) {
    const std::string digits = text_of(key);
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
  };
  text = text_of("text");
  dtype = text_of("dtype");
  number("batch", batch);
  number("lr", lr);
  number("seed", seed);
  number("eval_every", eval_every);
  number("virtual_shards", virtual_shards);
  sequence_parallel = text_of("sequence_parallel") == "1";
  if (!keep_steps) number("steps", steps);
}

namespace {

// "1, 2, 4".
std::string divisors(std::int64_t number) {
  std::string list;
  for (std::int64_t d = 1; d <= number; ++d)
    if (number % d == 0) list += (list.empty() ? "" : ", ") + std::to_string(d);
  return list;
}

[[noreturn]] void refuse(const std::string& why) { throw support::Exit(2, why); }

// `number` of something, which `parts` must divide.
void must_divide(const std::string& flag, std::int64_t parts, const std::string& what, std::int64_t number) {
  if (number % parts == 0) return;
  const std::int64_t less = number / parts * parts;
  refuse(fmt::format("{} {} does not divide {} {}; {} would, or {} {}", flag, parts, what, number, divisors(number), what,
                     less > 0 ? fmt::format("{} or {}", less, less + parts) : std::to_string(parts)));
}

}  // namespace

void TrainOptions::settle(const mt::nn::GPTConfig& config) {
  must_divide("--heads", config.heads, "--dim", config.dim);
  const int asked = ranks, given = dp * tp;
  if (tp == 0) tp = ranks > 0 && dp > 0 && ranks % dp == 0 ? ranks / dp : 1;
  if (dp == 0) dp = ranks > 0 && ranks % tp == 0 ? ranks / tp : 1;
  ranks = dp * tp;
  if (asked > 0 && asked != ranks) {
    std::string pairs;
    for (int d = 1; d <= asked; ++d)
      if (asked % d == 0) pairs += fmt::format("{}{} and {}", pairs.empty() ? "" : ", ", d, asked / d);
    refuse(fmt::format("--dp {} times --tp {} are {} ranks, not --ranks {}; --dp and --tp that would do: {}", dp, tp, ranks, asked, pairs));
  }
  if (given == 0 && ranks > 1024) refuse(fmt::format("at most 1024 ranks are supported, got {}", ranks));
  if (virtual_shards > 0) {
    const auto power = [](int n) { return std::has_single_bit(static_cast<unsigned>(n)); };
    const int most = std::max(dp, tp), fitting = static_cast<int>(std::bit_ceil(static_cast<unsigned>(most)));
    if (!power(dp) || !power(tp))
      refuse(fmt::format("with --virtual-shards {} ranks are powers of two, got --dp {} and --tp {}; 1, 2, 4, 8 would do", virtual_shards,
                         dp, tp));
    if (!power(virtual_shards) || virtual_shards < most)
      refuse(fmt::format("--virtual-shards {} must be a power of two that --dp {} and --tp {} divide; {}, {}, {} would do", virtual_shards,
                         dp, tp, fitting, 2 * fitting, 4 * fitting));
  }
  const std::string data = virtual_shards > 0 ? "--virtual-shards" : "--dp", tensor = virtual_shards > 0 ? "--virtual-shards" : "--tp";
  must_divide(data, data_shards(), "--batch", batch);
  must_divide(tensor, tensor_shards(), "--heads", config.heads);
  if (config.kv_heads > 0) must_divide(tensor, tensor_shards(), "key and value heads of", config.kv_heads);
  must_divide(tensor, tensor_shards(), "an inner width of", config.inner_width());
  if (sequence_parallel) must_divide(tensor, tensor_shards(), "--context", config.context);
}

mt::Recompute TrainOptions::recomputed() const {
  return recompute == "full" ? mt::Recompute::full : recompute == "products" ? mt::Recompute::products : mt::Recompute::none;
}

std::string TrainOptions::continued() const {
  std::string flags = fmt::format("--out {} --resume", out);
  if (ranks > 1) flags += fmt::format(" --dp {} --tp {}", dp, tp);
  if (recompute != "none") flags += " --recompute " + recompute;
  return flags;
}

}  // namespace examples
