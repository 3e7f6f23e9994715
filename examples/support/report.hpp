// Report: the lines that an example prints, each number beside the one it must be, as a table or as one JSON object.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <examples/support/value.hpp>

namespace support {

// A line of a part: its name in --json and what it means.
struct Line {
  const char* key;
  const char* meaning;
};

// What belongs together: a table, and a member of the JSON object.
struct Part {
  const char* name;
  const char* title;
  std::vector<Line> lines;
};

class Report {
 public:
  explicit Report(bool json) : json_(json) {}

  // The lines that follow belong to `part`, whose list of lines must have them.
  void begin(const Part& part);
  // A sentence for readers; not in the JSON object.
  void say(std::string_view text);
  // A number that depends on the machine or on a flag.
  void show(std::string_view key, const Value& value);
  // A value that must be `reference`, or differ from it by no more than `bound`.
  void check(std::string_view key, const Value& value, const Value& reference, double bound = 0);
  // A difference, which must not be greater than `bound`.
  void at_most(std::string_view key, double difference, double bound);
  // Something that must be so.
  void check(std::string_view key, bool holds) { check(key, Value(holds), Value(true)); }
  // A text, say of an error, in which `part` must be.
  void contains(std::string_view key, const std::string& text, const std::string& part);
  // A wrong value: it must be more than `bound` away from the right one.
  void differs(std::string_view key, const Value& wrong, const Value& right, double bound = 0);
  // The last part is complete.
  void end();

  bool ok() const { return failed_ == 0; }
  // The tables' last sentence, or the JSON object.
  void finish(const std::string& program, double seconds, const std::string& error = {});

 private:
  struct Row {
    std::string key, meaning;
    Value value;
    std::string here, reference, verdict, below;
    bool checked = false, ok = true;
    Value must_be{};
    double difference = 0, bound = 0;
    const char* relation = "reference";
  };
  struct Chapter {
    std::string name, title;
    std::vector<Row> rows;
    std::vector<std::string> sentences;  // printed below the rows
  };

  Row& add(std::string_view key, const Value& value);
  Row& judged(std::string_view key, const Value& value, const Value& reference, double bound, bool ok);
  void print(const Chapter& chapter) const;
  std::string json(const std::string& program, double seconds, const std::string& error) const;

  bool json_;
  bool open_ = false;
  int checks_ = 0, failed_ = 0;
  const Part* part_ = nullptr;
  std::vector<Chapter> chapters_;
};

}  // namespace support
