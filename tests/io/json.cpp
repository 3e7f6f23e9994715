// The strict JSON reader.
// SPDX-License-Identifier: MIT
#include <minitorch/io/json.hpp>

#include <tests/catch.hpp>

using namespace minitorch;

namespace {
std::string read(const std::string& text) { return io::JsonReader(text, "j").string(); }
}  // namespace

TEST_CASE("strings with every escape") {
  CHECK(read(R"("a\"\\\/\b\f\n\r\t")") == "a\"\\/\b\f\n\r\t");
  CHECK(read(R"("\u0041\u00e4\u20ac\ud83d\ude00")") == "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  for (const char* bad : {R"("\x")", R"("\u12")", R"("\ud800")", R"("\ud800\u0041")", R"("\udc00")", "\"\n\"", "\"open", "x"})
    CHECK_THROWS_AS(read(bad), IoError);
}

TEST_CASE("integers without sign, leading zero or overflow") {
  CHECK(io::JsonReader("9223372036854775807", "j").integer() == INT64_MAX);
  CHECK(io::JsonReader("0", "j").integer() == 0);
  for (const char* bad : {"-1", "01", "9223372036854775808", "", "x"}) CHECK_THROWS_AS(io::JsonReader(bad, "j").integer(), IoError);
}

TEST_CASE("objects and arrays are pulled") {
  io::JsonReader json(R"( { "a" : [1, 2,3] , "b":[ ] } )", "j");
  std::int64_t total = 0;
  std::string names;
  json.object([&](const std::string& name) {
    names += name;
    json.array([&] { total += json.integer(); });
  });
  json.expect_end();
  CHECK(names == "ab");
  CHECK(total == 6);
  io::JsonReader bad("{\"a\" 1}", "j");
  CHECK_THROWS_WITH(bad.object([](const std::string&) {}), "j: byte 5 must be ':'");
}

TEST_CASE("what is quoted reads back") {
  const std::string text("\0\x1f \"\\/\x7f\xc3\xa4\n", 10);
  CHECK(read(io::json_quoted(text)) == text);
  CHECK(io::json_quoted("\n") == "\"\\u000a\"");
}
