// Program: flags, --help, --json and exit statuses, the same for every example.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <examples/support/report.hpp>

namespace support {

// Thrown by a body that must end with a status of its own: 2 for flags that do not fit each other, 128 + the signal after one.
class Exit : public std::runtime_error {
 public:
  Exit(int with, const std::string& why) : std::runtime_error(why), status(with) {}
  int status;
};

// Exit statuses: 0 all checks hold, 1 an error, 2 wrong usage, 3 a check failed, or that of an Exit.
class Program {
 public:
  // The name, one sentence on what it shows, and the parts that it reports.
  Program(std::string name, std::string sentence, std::vector<const Part*> parts);
  ~Program();

  // --name VALUE, with the present value of `value` as the default. Values outside [least, most] are refused.
  void flag(const std::string& name, int& value, const std::string& help, int least, int most);
  void flag(const std::string& name, std::int64_t& value, const std::string& help, std::int64_t least, std::int64_t most);
  void flag(const std::string& name, double& value, const std::string& help, double least, double most);
  void flag(const std::string& name, std::string& value, const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);
  // One of some values.
  void flag(const std::string& name, std::string& value, const std::string& help, const std::vector<std::string>& choices);
  // Whether the command line has the flag; once run() has read it.
  bool given(const std::string& name) const;
  // Whether the result is one JSON object on standard output, where nothing else may be printed.
  bool json() const;

  // Reads the flags, runs the body and prints its report. Returns the exit status.
  int run(int argc, char** argv, const std::function<void(Report&)>& body);

 private:
  struct Parser;
  std::string name_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace support
