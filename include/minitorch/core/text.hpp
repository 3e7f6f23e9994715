// Building one line of text from values, without streams: what error messages are made of.
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace minitorch {

inline void append_text(std::string& out, std::string_view text) { out += text; }
inline void append_text(std::string& out, const char* text) { out += text; }
inline void append_text(std::string& out, char character) { out += character; }
inline void append_text(std::string& out, bool value) { out += value ? "true" : "false"; }

template <std::integral Integer>
void append_text(std::string& out, Integer value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// The shortest text that reads back as the same value.
template <std::floating_point Float>
void append_text(std::string& out, Float value) {
  char digits[64];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// All parts, one after the other. A type takes part by an append_text(std::string&, const Type&) beside it.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

}  // namespace minitorch
