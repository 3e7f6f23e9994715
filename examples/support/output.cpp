// Standard output: colours, wrapping, and the errors of writing.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include <examples/support/output.hpp>

namespace support {

std::string styled(Style style, std::string_view text) {
  static const bool colours = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr && std::getenv("TERM") != nullptr &&
                              std::getenv("TERM") != std::string_view("dumb");
  if (!colours) return std::string(text);
  constexpr const char* codes[] = {"1", "2", "32", "1;31"};
  return std::string("\033[") + codes[static_cast<int>(style)] + "m" + std::string(text) + "\033[0m";
}

std::string wrapped(std::string_view text, int indent, int width) {
  if (const auto end = text.find('\n'); end != std::string_view::npos)  // a text of several lines
    return wrapped(text.substr(0, end), indent, width) + wrapped(text.substr(end + 1), indent, width);
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string out, line = margin;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (line.size() > margin.size() && line.size() + 1 + word.size() > static_cast<std::size_t>(width)) {
      out += line + '\n';
      line = margin;
    }
    if (line.size() > margin.size()) line += ' ';
    line += word;
  }
  return out + line + '\n';
}

void print_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw std::system_error(errno, std::generic_category(), "standard output");
}

void occupy_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the wrong way: using it fails
}

}  // namespace support
