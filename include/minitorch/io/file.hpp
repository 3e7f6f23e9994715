// Files read whole and written atomically; the only header of this layer that needs the operating system.
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <minitorch/core/error.hpp>

namespace minitorch::io {

namespace detail {

[[noreturn]] inline void fail_errno(const char* what, const std::filesystem::path& path) {
  const int error = errno;
  fail<IoError>(what, ": ", path.string(), ": ", std::strerror(error));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  // Closing can be what reports a full disk. Returns whether it did not.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

inline bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

inline std::filesystem::path parent_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// A new, empty file in the same directory, with the process's number in its name. Throws IoError.
inline std::pair<std::string, Descriptor> create_beside(const std::filesystem::path& path) {
  for (int attempt = 0;; ++attempt) {
    std::string name = concat(path.string(), ".", ::getpid(), ".", attempt, ".tmp");
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return {std::move(name), Descriptor(fd)};
    if (errno != EEXIST) fail_errno("write", path);
  }
}

}  // namespace detail

// The bytes of a text.
inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

// The whole file. Throws IoError.
inline std::string read_file(const std::filesystem::path& path) {
  const detail::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) detail::fail_errno("read", path);
  struct ::stat about {};
  if (::fstat(file.get(), &about) != 0) detail::fail_errno("read", path);
  if (S_ISDIR(about.st_mode)) fail<IoError>("read: ", path.string(), ": is a directory");
  std::string content;
  content.reserve(static_cast<std::size_t>(about.st_size));
  for (char piece[1 << 16];;) {
    const ssize_t count = ::read(file.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) detail::fail_errno("read", path);
    if (count == 0) return content;
    content.append(piece, static_cast<std::size_t>(count));
  }
}

// Makes the names in a directory permanent. Throws IoError.
inline void sync_directory(const std::filesystem::path& path) {
  const detail::Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || (::fsync(directory.get()) != 0 && errno != EINVAL)) detail::fail_errno("sync", path);
}

// Writes the pieces one after the other so that `path` holds, whatever happens and whenever it is looked at, either what it held
// before or all of the new content: a temporary file beside it, fsync, rename, fsync of the directory. Throws IoError, and then the
// old content is there and the temporary file is not.
inline void write_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces) {
  auto [temporary, file] = detail::create_beside(path);
  bool good = true;
  for (const auto& piece : pieces) good = good && detail::write_all(file.get(), piece);
  good = good && ::fsync(file.get()) == 0;
  good = good && file.close() && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!good) {
    const int error = errno;
    ::unlink(temporary.c_str());
    errno = error;
    detail::fail_errno("write", path);
  }
  sync_directory(detail::parent_of(path));
}
inline void write_file(const std::filesystem::path& path, std::string_view text) {
  const std::span<const std::byte> piece = bytes_of(text);
  write_file(path, std::span(&piece, 1));
}

}  // namespace minitorch::io
