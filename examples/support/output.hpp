// Text on standard output: plain unless it is a terminal, and an error when it cannot be written.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace support {

enum class Style { title, dim, good, bad };

// In colour on a terminal, unless NO_COLOR is set.
std::string styled(Style style, std::string_view text);

// Broken into lines of at most `width`, each after `indent` spaces, with a newline at the end.
std::string wrapped(std::string_view text, int indent, int width);

// Writes and flushes, so that a process forked later has nothing left to print. Throws std::system_error.
void print_out(std::string_view text);

// Descriptors 0, 1 and 2 that the caller has closed are occupied, or a file opened later would get what is printed.
void occupy_standard_descriptors();

}  // namespace support
