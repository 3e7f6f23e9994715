// Reports as one JSON object.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <examples/support/report.hpp>
#include <nlohmann/json.hpp>

namespace support {

namespace {

using Json = nlohmann::ordered_json;

// Full precision. JSON has no infinity and no NaN: they are texts.
struct ToJson {
  Json operator()(double value) const {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
  Json operator()(const std::vector<double>& values) const {
    Json out = Json::array();
    for (double value : values) out.push_back((*this)(value));
    return out;
  }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

}  // namespace

std::string Report::json(const std::string& program, double seconds, const std::string& error) const {
  Json root;
  root["program"] = program;
  root["ok"] = error.empty() && ok();
  if (!error.empty()) root["error"] = error;
  root["seconds"] = seconds;
  root["checks"] = checks_;
  root["failed"] = failed_;
  Json& parts = root["parts"] = Json::object();
  for (const Chapter& chapter : chapters_) {
    Json& part = parts[chapter.name] = Json::object();
    for (const Row& row : chapter.rows) {
      Json& line = part[row.key];
      line["value"] = std::visit(ToJson{}, row.value);
      if (!row.checked) continue;
      line[row.relation] = std::visit(ToJson{}, row.must_be);
      line["difference"] = ToJson{}(row.difference);
      line["bound"] = row.bound;
      line["ok"] = row.ok;
    }
  }
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace support
