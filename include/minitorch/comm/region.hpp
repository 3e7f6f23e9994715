// Memory that forked processes share: an object without a name, mapped at its largest size, given pages on demand.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>

#include <minitorch/comm/os.hpp>

namespace minitorch::comm {

// Created before the fork, so every rank maps it at the same address. A POSIX object with a random name that is unlinked while it is
// still empty; where /dev/shm is absent or smaller than `size`, a memfd. Nobody else can open either.
class Region {
 public:
  Region() = default;
  // Throws CommError when the system cannot give it.
  explicit Region(std::int64_t size) : size_(size) {
    fd_ = open_shm(size);
    if (fd_ < 0) fd_ = memfd_create("minitorch", MFD_CLOEXEC);
    if (fd_ < 0) fail<CommError>("launch: shared memory is not available: ", os::error_text(errno));
    void* base = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
    if (base == MAP_FAILED) {
      const int error = errno;
      ::close(fd_);
      fail<CommError>("launch: ", size, " bytes of shared address space are not available: ", os::error_text(error));
    }
    base_ = static_cast<std::byte*>(base);
  }
  Region(Region&& other) noexcept { swap(other); }
  Region& operator=(Region&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Region() {
    if (base_ != nullptr) munmap(base_, static_cast<std::size_t>(size_));
    if (fd_ >= 0) ::close(fd_);
  }

  std::byte* base() const { return base_; }
  std::int64_t size() const { return size_; }

  // Gives pages to [offset, offset + bytes). Afterwards touching them cannot fail. Throws CommError with the sizes.
  void commit(std::int64_t offset, std::int64_t bytes) const {
    if (const std::int64_t available = os::memory_available(); available >= 0 && bytes > available)
      fail<CommError>("arena: ", bytes, " bytes of shared memory were requested, ", available, " are available");
    int error = 0;
    do error = posix_fallocate(fd_, offset, bytes);
    while (error == EINTR);
    if (error != 0)
      fail<CommError>("arena: ", bytes, " bytes of shared memory were requested, ", available_in_file_system(),
                      " are available: ", os::error_text(error));
  }

 private:
  void swap(Region& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
  }

  std::int64_t available_in_file_system() const {
    struct statvfs info {};
    if (fstatvfs(fd_, &info) != 0 || info.f_blocks == 0) return os::memory_available();
    return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
  }

  // -1 when there is no /dev/shm or when it cannot give `size` bytes.
  static int open_shm(std::int64_t size) {
    struct statvfs info {};
    if (statvfs("/dev/shm", &info) != 0) return -1;
    if (static_cast<std::int64_t>(info.f_bavail) < size / static_cast<std::int64_t>(info.f_frsize) + 1) return -1;
    for (int attempt = 0; attempt < 16; ++attempt) {
      unsigned char random[16];
      if (getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) return -1;
      std::string name = "/minitorch-";
      for (unsigned char r : random) name += "0123456789abcdef"[r >> 4], name += "0123456789abcdef"[r & 15];
      const int fd = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
      if (fd >= 0) shm_unlink(name.c_str());
      if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
  }

  int fd_ = -1;
  std::byte* base_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace minitorch::comm
