// A small world of facts, told in sentences: text that can be made anywhere, with a part to train on and a part to validate on.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <minitorch/train/draws.hpp>

namespace minitorch::train {

struct World {
  std::string training, validation;
};

namespace detail {

inline constexpr std::array<std::string_view, 12> people{"anna",  "ben",  "clara", "david", "emma",  "felix",
                                                         "greta", "hugo", "ida",   "jonas", "klara", "leo"};
inline constexpr std::array<std::string_view, 8> things{"ball", "book", "boat", "lamp", "drum", "kite", "coat", "cup"};
inline constexpr std::array<std::string_view, 6> colours{"red", "blue", "green", "white", "black", "yellow"};
inline constexpr std::array<std::string_view, 7> places{"garden", "kitchen", "harbour", "school", "market", "forest", "tower"};

// One person's facts, fixed by the seed.
struct Facts {
  std::string_view name, thing, colour, place, friend_name;
};

inline Facts facts_of(std::size_t person, std::uint64_t seed) {
  const Draws draw(seed, 0x776f726c64);
  const auto pick = [&](const auto& list, std::uint64_t salt) {
    return list[static_cast<std::size_t>(draw.below(person * 8 + salt, static_cast<std::int64_t>(list.size())))];
  };
  const std::size_t other = (person + 1 + static_cast<std::size_t>(draw.below(person * 8 + 4, 11))) % people.size();
  return {people[person], pick(things, 0), pick(colours, 1), pick(places, 2), people[other]};
}

// One sentence about somebody: a statement, or a question with its answer.
inline std::string sentence(const Facts& f, std::int64_t form) {
  std::string out;
  const auto say = [&](auto... parts) { ((out += parts), ...); };
  switch (form) {
    case 0: say(f.name, " has a ", f.colour, " ", f.thing, ". "); break;
    case 1: say("the ", f.thing, " of ", f.name, " is ", f.colour, ". "); break;
    case 2: say(f.name, " lives near the ", f.place, ". "); break;
    case 3: say("where is ", f.name, "? ", f.name, " is in the ", f.place, ". "); break;
    case 4: say("what colour is the ", f.thing, " of ", f.name, "? it is ", f.colour, ". "); break;
    case 5: say(f.name, " takes the ", f.thing, " to the ", f.place, ". "); break;
    case 6: say("a friend of ", f.name, " is ", f.friend_name, ". "); break;
    default: say(f.name, " and ", f.friend_name, " meet at the ", f.place, ". "); break;
  }
  return out;
}

inline std::string tell(std::uint64_t seed, std::uint64_t stream, std::size_t length) {
  const Draws draw(seed, stream);
  std::string text;
  for (std::uint64_t i = 0; text.size() < length; ++i) {
    const auto person = static_cast<std::size_t>(draw.below(3 * i, static_cast<std::int64_t>(people.size())));
    text += sentence(facts_of(person, seed), draw.below(3 * i + 1, 8));
    if (draw.below(3 * i + 2, 6) == 0) text.back() = '\n';
  }
  text.resize(length);
  return text;
}

}  // namespace detail

// The same facts told twice, in other words: `training` and `validation` characters of text, functions of the seed.
inline World make_world(std::uint64_t seed, std::size_t training = 200'000, std::size_t validation = 24'000) {
  return {detail::tell(seed, 1, training), detail::tell(seed, 2, validation)};
}

}  // namespace minitorch::train
