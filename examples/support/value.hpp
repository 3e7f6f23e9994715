// What a line of a report can hold, as text and compared.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace support {

using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;

// As a reader wants it: yes, 303,104, [0.5, 0.14]. Numbers with `digits` significant digits, or with 0 as many as read back the same.
std::string to_text(const Value& value, int digits = 0);

// The largest difference of two numbers or lists of them: 0 for equal values, infinite where they cannot be compared.
double difference(const Value& a, const Value& b);

}  // namespace support
