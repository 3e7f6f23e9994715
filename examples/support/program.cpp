// Command lines by CLI11, with the nearest flag as a suggestion; the only file that includes it.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <concepts>
#include <cstdio>
#include <numeric>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <examples/support/measure.hpp>
#include <examples/support/output.hpp>
#include <examples/support/program.hpp>

namespace support {

namespace {

// Insertions, deletions and replacements that make a into b (Wagner and Fischer 1974).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// How many edits a mistyped name may be away from what was meant.
std::size_t tolerance(std::string_view name) { return name.empty() ? 0 : std::max<std::size_t>(1, name.size() / 3); }

std::string help_of_json(const std::vector<const Part*>& parts) {
  std::string text =
      "JSON: one object with\n"
      "  program, ok, seconds   the name, whether all checks hold, how long it ran\n"
      "  checks, failed         how many numbers have a reference, and how many are not within their bound of it\n"
      "  error                  what went wrong, when something did\n"
      "  parts.PART.LINE        value; and where there is a reference: reference (or differs_from, at_most,\n"
      "                         contains), difference, bound, ok. Numbers in full precision; \"inf\", \"-inf\" and \"nan\" are texts\n";
  for (const Part* part : parts) {
    text += fmt::format("Lines of part {}:\n", part->name);
    for (const Line& line : part->lines) text += fmt::format("  {:26} {}\n", line.key, line.meaning);
  }
  return text + "Exit status: 0 all checks hold, 1 an error, 2 wrong usage, 3 a check failed";
}

}  // namespace

struct Program::Parser {
  CLI::App app;
  bool json = false;

  // Throws the error of an unknown argument, with what may have been meant.
  [[noreturn]] void unknown(const std::string& argument) const {
    const std::string flag = argument.substr(0, argument.find('='));
    if (!flag.starts_with("-")) throw CLI::ParseError(fmt::format("'{}' is not a flag", argument), 2);
    const std::string typed = flag.substr(std::min(flag.size(), flag.find_first_not_of('-')));
    std::string nearest;
    std::size_t least = tolerance(typed) + 1;
    for (const CLI::Option* option : app.get_options())
      for (const std::string& name : option->get_lnames())
        if (const std::size_t distance = edit_distance(typed, name); distance < least) least = distance, nearest = name;
    throw CLI::ParseError(fmt::format("there is no flag {}{}", flag, nearest.empty() ? "" : "; did you mean --" + nearest + "?"), 2);
  }

  // Of several values the last counts.
  template <class T>
  CLI::Option* add(const std::string& name, T& value, const std::string& help) {
    const std::string initial = fmt::format("{}", value);
    return app.add_option(name, value, initial.empty() ? help : fmt::format("{} (default {})", help, initial))
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  template <class T>
  void add(const std::string& name, T& value, const std::string& help, T least, T most) {
    const auto in_range = [=](const std::string& text) {
      T number{};
      if (!CLI::detail::lexical_cast(text, number))
        return fmt::format("'{}' is not {}", text, std::integral<T> ? "a whole number" : "a number");
      return least <= number && number <= most ? std::string() : fmt::format("must be {} to {}, got {}", least, most, text);
    };
    add(name, value, help)->check(CLI::Validator(in_range, ""))->type_name("N");
  }
};

Program::Program(std::string name, std::string sentence, std::vector<const Part*> parts) : name_(std::move(name)), parser_(new Parser) {
  CLI::App& app = parser_->app;
  app.name("scripts/demo " + name_);
  app.description(std::move(sentence));
  app.footer(help_of_json(parts));
  app.allow_extras();
  app.get_formatter()->column_width(28);
  app.add_flag("--json", parser_->json, "Print one JSON object instead of tables");
}

Program::~Program() = default;

void Program::flag(const std::string& name, int& value, const std::string& help, int least, int most) {
  parser_->add(name, value, help, least, most);
}
void Program::flag(const std::string& name, std::int64_t& value, const std::string& help, std::int64_t least, std::int64_t most) {
  parser_->add(name, value, help, least, most);
}
void Program::flag(const std::string& name, double& value, const std::string& help, double least, double most) {
  parser_->add(name, value, help, least, most);
}
void Program::flag(const std::string& name, std::string& value, const std::string& help) {
  parser_->add(name, value, help)->type_name("TEXT");
}
void Program::flag(const std::string& name, bool& value, const std::string& help) { parser_->app.add_flag(name, value, help); }

void Program::flag(const std::string& name, std::string& value, const std::string& help, const std::vector<std::string>& choices) {
  parser_->app.add_option(name, value, help)
      ->check(CLI::IsMember(choices))
      ->capture_default_str()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}
bool Program::given(const std::string& name) const { return parser_->app.count(name) > 0; }
bool Program::json() const { return parser_->json; }

int Program::run(int argc, char** argv, const std::function<void(Report&)>& body) {
  occupy_standard_descriptors();
  try {
    try {
      parser_->app.parse(argc, argv);
      if (const auto rest = parser_->app.remaining(); !rest.empty()) parser_->unknown(rest.front());
    } catch (const CLI::CallForHelp&) {
      print_out(parser_->app.help());
      return 0;
    } catch (const CLI::ParseError& error) {
      fmt::print(stderr, "{}: {} (see --help)\n", name_, error.what());
      return 2;
    }
    const Stopwatch watch;
    Report report(parser_->json);
    std::string failure;
    int status = 1;
    try {
      body(report);
    } catch (const Exit& exit) {
      failure = exit.what();
      status = exit.status;
    } catch (const std::exception& error) {
      failure = error.what();
    }
    report.finish(name_, watch.seconds(), failure);
    if (!failure.empty()) fmt::print(stderr, "{}: {}\n", name_, failure);
    return !failure.empty() ? status : report.ok() ? 0 : 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name_, error.what());
    return 1;
  }
}

}  // namespace support
