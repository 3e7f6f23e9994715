// Building one line of text from values, without streams: what error messages are made of.
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <concepts>
#include <initializer_list>
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

// A part of a text, without its type. A type takes part by an append_text(std::string&, const Type&) beside it.
class TextPart {
 public:
  template <class T>
  TextPart(const T& value)  // NOLINT: every value is a part
      : value_(&value), append_([](std::string& out, const void* part) { append_text(out, *static_cast<const T*>(part)); }) {}
  TextPart(const char* text) : value_(text), append_([](std::string& out, const void* part) { out += static_cast<const char*>(part); }) {}

  friend void append_text(std::string& out, const TextPart& part) { part.append_(out, part.value_); }

 private:
  const void* value_;
  void (*append_)(std::string&, const void*);
};

namespace detail {
[[gnu::noinline]] inline std::string join(std::initializer_list<TextPart> parts) {
  std::string out;
  for (const TextPart& part : parts) append_text(out, part);
  return out;
}
}  // namespace detail

// All parts, one after the other.
template <class... Parts>
std::string concat(const Parts&... parts) {
  return detail::join({parts...});
}

}  // namespace minitorch
