// Text to train on: where it comes from, its characters as numbers, and random windows of it as batches.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <minitorch/autograd/autograd.hpp>
#include <minitorch/io/file.hpp>
#include <minitorch/train/draws.hpp>
#include <minitorch/train/system.hpp>
#include <minitorch/train/world.hpp>

namespace minitorch::train {

struct Corpus {
  std::string name;  // what it is, for people
  std::string training, validation;
};

// The last tenth is for validation.
inline Corpus split_text(std::string name, std::string_view text) {
  const std::size_t cut = text.size() - text.size() / 10;
  return {std::move(name), std::string(text.substr(0, cut)), std::string(text.substr(cut))};
}

// A file, "world" for the generated one, or "" for the best that this machine has: the King James Bible (Debian's bible-kjv and
// bible-kjv-text), else the licence texts of every Debian system, else the world. Throws IoError for a file that is missing or empty.
inline Corpus load_corpus(const std::string& source, std::uint64_t seed) {
  const auto world = [&] {
    World w = make_world(seed);
    return Corpus{"the generated world of facts", std::move(w.training), std::move(w.validation)};
  };
  if (source == "world") return world();
  if (!source.empty()) {
    const std::string text = io::read_file(source);
    if (text.empty()) fail<IoError>("text: ", source, " is empty");
    return split_text(source, text);
  }
  if (const auto bible = output_of("bible -f 'gen1:1-rev22:21' 2>/dev/null"); bible && bible->size() > 1'000'000)
    return split_text("the King James Bible", *bible);
  std::vector<std::filesystem::path> licences;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/share/common-licenses", none))
    if (entry.is_regular_file() && !entry.is_symlink()) licences.push_back(entry.path());
  std::sort(licences.begin(), licences.end());
  std::string text;
  for (const auto& licence : licences) text += io::read_file(licence);
  return text.empty() ? world() : split_text("the licence texts in /usr/share/common-licenses", text);
}

// Characters (bytes) as consecutive numbers.
class Vocabulary {
 public:
  // The characters that occur in any of the texts, in the order of their codes.
  explicit Vocabulary(std::initializer_list<std::string_view> texts) {
    std::array<bool, 256> seen{};
    for (std::string_view text : texts)
      for (char c : text) seen[static_cast<unsigned char>(c)] = true;
    for (std::size_t code = 0; code < 256; ++code)
      if (seen[code]) characters_ += static_cast<char>(static_cast<unsigned char>(code));
    index_.fill(-1);
    for (std::size_t i = 0; i < characters_.size(); ++i) index_[static_cast<unsigned char>(characters_[i])] = static_cast<std::int64_t>(i);
  }

  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  const std::string& characters() const { return characters_; }

  // Throws ArgumentError for a character that is not there.
  Tensor<std::int64_t> encode(std::string_view text) const {
    Tensor<std::int64_t> out = Tensor<std::int64_t>::empty({static_cast<std::int64_t>(text.size())});
    std::int64_t* to = out.mutable_data();
    for (char c : text) {
      const std::int64_t token = index_[static_cast<unsigned char>(c)];
      if (token < 0)
        fail<ArgumentError>("vocabulary: there is no character with code ", int{static_cast<unsigned char>(c)}, " in the training text");
      *to++ = token;
    }
    return out;
  }
  std::string decode(std::span<const std::int64_t> tokens) const {
    std::string out;
    for (std::int64_t token : tokens) out += characters_.at(static_cast<std::size_t>(token));
    return out;
  }

 private:
  std::string characters_;
  std::array<std::int64_t, 256> index_{};
};

// Inputs and, one character further, targets: [batch, context] each.
struct Batch {
  Tensor<std::int64_t> inputs, targets;
};

// `count` windows of tokens that start where `start(i)` says.
template <class Start>
Batch windows(const Tensor<std::int64_t>& tokens, std::int64_t count, std::int64_t context, Start start) {
  Batch batch{Tensor<std::int64_t>::empty({count, context}), Tensor<std::int64_t>::empty({count, context})};
  std::int64_t *inputs = batch.inputs.mutable_data(), *targets = batch.targets.mutable_data();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t* from = tokens.data() + start(i);
    std::copy_n(from, context, inputs + i * context);
    std::copy_n(from + 1, context, targets + i * context);
  }
  return batch;
}

// The batch of a step: windows at random places that depend on seed and step alone. Throws ArgumentError for a text that is shorter
// than one window and its targets.
inline Batch random_batch(const Tensor<std::int64_t>& tokens, std::int64_t count, std::int64_t context, std::uint64_t seed,
                          std::int64_t step) {
  const std::int64_t places = tokens.numel() - context;
  if (places < 1) fail<ArgumentError>("text: ", tokens.numel(), " characters are too few for a context of ", context, " and the next one");
  const Draws draw(seed, 0x6261746368);
  return windows(tokens, count, context, [&](std::int64_t i) { return draw.below(static_cast<std::uint64_t>(step * count + i), places); });
}

}  // namespace minitorch::train
