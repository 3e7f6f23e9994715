// The JSON that file headers are made of: a strict reader that pulls one token after the other, and text escaped for writing.
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include <minitorch/core/error.hpp>

namespace minitorch::io {

// Reads what the caller expects and throws IoError at anything else, with the position.
class JsonReader {
 public:
  // `what` names the text in errors.
  JsonReader(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  // Consumes the character if it comes next, after blanks.
  bool accept(char character) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != character) return false;
    ++at_;
    return true;
  }
  void expect(char character) {
    if (!accept(character)) unexpected(concat('\'', character, '\''));
  }
  void expect_end() {
    skip_blanks();
    if (at_ != text_.size()) unexpected("the end");
  }

  std::string string() {
    expect('"');
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) unexpected("no control character in a string");
      ++at_;
      if (c == '\\')
        escape(out);
      else
        out += c;
    }
    if (at_ == text_.size()) unexpected("the end of a string");
    ++at_;
    return out;
  }

  // An integer that is not negative, without leading zeros.
  std::int64_t integer() {
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    const auto length = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc() || rest[0] == '-' || (rest[0] == '0' && length > 1)) unexpected("an integer of at most 63 bits");
    at_ += length;
    return number;
  }

  // member(name) reads the value of each member in turn. Throws for a name that comes twice only if member does.
  template <class Member>
  void object(Member&& member) {
    expect('{');
    if (accept('}')) return;
    do {
      const std::string name = string();
      expect(':');
      member(name);
    } while (accept(','));
    expect('}');
  }
  // element() reads each element in turn.
  template <class Each>
  void array(Each&& element) {
    expect('[');
    if (accept(']')) return;
    do element();
    while (accept(','));
    expect(']');
  }

  [[noreturn]] void unexpected(std::string_view wanted) const { fail<IoError>(what_, ": byte ", at_, " must be ", wanted); }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
  }

  void escape(std::string& out) {
    if (at_ == text_.size()) unexpected("an escape");
    const char c = text_[at_++];
    switch (c) {
      case '"':
      case '\\':
      case '/': out += c; return;
      case 'b': out += '\b'; return;
      case 'f': out += '\f'; return;
      case 'n': out += '\n'; return;
      case 'r': out += '\r'; return;
      case 't': out += '\t'; return;
      case 'u': break;
      default: unexpected("a known escape");
    }
    std::uint32_t code = hexadecimal();
    if (code >= 0xdc00 && code < 0xe000) unexpected("the first half of a surrogate pair");
    if (code >= 0xd800 && code < 0xdc00) {
      if (text_.substr(at_, 2) != "\\u") unexpected("the second half of a surrogate pair");
      at_ += 2;
      const std::uint32_t low = hexadecimal();
      if (low < 0xdc00 || low >= 0xe000) unexpected("the second half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(out, code);
  }

  std::uint32_t hexadecimal() {
    const std::string_view digits = text_.substr(at_, 4);
    std::uint32_t code = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4) unexpected("four hexadecimal digits");
    at_ += 4;
    return code;
  }

  static void append_utf8(std::string& out, std::uint32_t code) {
    const auto put = [&](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (code < 0x80) return put(code);
    if (code < 0x800) {
      put(0xc0 | code >> 6);
    } else if (code < 0x10000) {
      put(0xe0 | code >> 12);
      put(0x80 | (code >> 6 & 0x3f));
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
      put(0x80 | (code >> 6 & 0x3f));
    }
    put(0x80 | (code & 0x3f));
  }

  std::string_view text_, what_;
  std::size_t at_ = 0;
};

// The text in quotes, with what JSON does not allow in them escaped. UTF-8 passes through.
inline std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      constexpr char digits[] = "0123456789abcdef";
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

}  // namespace minitorch::io
