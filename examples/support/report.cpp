// Reports as tables; json.cpp writes them as JSON.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <examples/support/output.hpp>
#include <examples/support/report.hpp>

namespace support {

void Report::begin(const Part& part) {
  end();
  part_ = &part;
  open_ = true;
  chapters_.push_back({part.name, part.title, {}, {}});
}

Report::Row& Report::add(std::string_view key, const Value& value) {
  if (!open_) throw std::logic_error("a line outside of a part: " + std::string(key));
  const auto line = std::ranges::find_if(part_->lines, [&](const Line& known) { return known.key == key; });
  if (line == part_->lines.end()) throw std::logic_error("part " + chapters_.back().name + " has no line " + std::string(key));
  Row& row = chapters_.back().rows.emplace_back();
  row.key = key;
  row.meaning = line->meaning;
  row.value = value;
  row.here = to_text(value);
  return row;
}

void Report::show(std::string_view key, const Value& value) {
  Row& row = add(key, value);
  row.here = to_text(value, 4);
  if (row.here.size() > 60 || row.here.find('\n') != std::string::npos) row.below = std::exchange(row.here, {});  // a text, no number
}

Report::Row& Report::judged(std::string_view key, const Value& value, const Value& reference, double bound, bool ok) {
  Row& row = add(key, value);
  row.checked = true;
  row.must_be = reference;
  row.reference = to_text(reference);
  row.difference = difference(value, reference);
  row.bound = bound;
  row.ok = ok;
  row.verdict = ok ? "ok" : std::isfinite(row.difference) ? fmt::format("off by {:.3g}", row.difference) : "differs";
  ++checks_;
  failed_ += ok ? 0 : 1;
  return row;
}

void Report::check(std::string_view key, const Value& value, const Value& reference, double bound) {
  Row& row = judged(key, value, reference, bound, difference(value, reference) <= bound);
  if (row.ok && row.difference > 0) row.verdict = fmt::format("ok, {:.1e} off", row.difference);
}

void Report::at_most(std::string_view key, double difference, double bound) {
  Row& row = judged(key, difference, 0.0, bound, difference <= bound);
  row.relation = "at_most";
  row.must_be = bound;
  row.here = to_text(difference, 2);
  row.reference = "<= " + to_text(bound, 2);
}

void Report::contains(std::string_view key, const std::string& text, const std::string& part) {
  Row& row = judged(key, text, part, 0, text.find(part) != std::string::npos);
  row.relation = "contains";
  row.here.clear();
  row.below = text;
  if (!row.ok)
    row.reference = "must contain: " + part;
  else
    row.reference.clear();
}

void Report::differs(std::string_view key, const Value& wrong, const Value& right, double bound) {
  Row& row = judged(key, wrong, right, bound, difference(wrong, right) > bound);
  row.relation = "differs_from";
  row.here = to_text(wrong, 4);
  row.reference = "not " + to_text(right, 4);
  if (!row.ok) row.verdict = "the same";
}

void Report::say(std::string_view text) { chapters_.back().sentences.emplace_back(text); }

void Report::end() {
  if (open_ && !json_) print(chapters_.back());
  open_ = false;
}

void Report::print(const Chapter& chapter) const {
  std::size_t meaning = 0, here = 4, reference = 0;
  for (const Row& row : chapter.rows) {
    meaning = std::max(meaning, row.meaning.size());
    here = std::max(here, row.here.size());
    reference = std::max(reference, row.reference.size());
  }
  if (reference > 0) reference = std::max(reference, std::string_view("reference").size());
  std::string out = fmt::format("\n{}\n", styled(Style::title, chapter.title));
  if (reference > 0)
    out += styled(Style::dim, fmt::format("  {:{}}  {:>{}}  {:>{}}", "", meaning, "here", here, "reference", reference)) + "\n";
  for (const Row& row : chapter.rows) {
    out += fmt::format("  {:{}}  {:>{}}", row.meaning, meaning, row.here, here);
    if (row.checked) out += fmt::format("  {:>{}}  {}", row.reference, reference, styled(row.ok ? Style::good : Style::bad, row.verdict));
    out += '\n';
    if (!row.below.empty()) out += wrapped(row.below, 6, 100);
  }
  for (const std::string& sentence : chapter.sentences) out += wrapped(sentence, 2, 100);
  print_out(out);
}

void Report::finish(const std::string& program, double seconds, const std::string& error) {
  end();
  if (json_) {
    print_out(json(program, seconds, error));
  } else if (error.empty()) {
    const std::string verdict = checks_ == 0  ? ""
                                : failed_ > 0 ? fmt::format("{} of {} checks failed", failed_, checks_)
                                              : fmt::format("all {} checks hold", checks_);
    print_out(fmt::format("\n{}: {}{}{:.1f} s\n", program, styled(failed_ > 0 ? Style::bad : Style::good, verdict), checks_ > 0 ? ", " : "",
                          seconds));
  }
}

}  // namespace support
