// The only place where this layer names the operating system: Linux futexes, shared memory, processes.
// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include <minitorch/core/error.hpp>

namespace minitorch::comm::os {

inline std::string error_text(int error) {
  char text[128] = "";
  return strerror_r(error, text, sizeof text);  // the GNU form returns the text
}

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Lets somebody else have the processor.
inline void yield() { sched_yield(); }

// The half of a 64-bit word that a futex can look at: the low one. Never private: the word lies in memory of several processes.
inline std::uint32_t* futex_half(void* word) {
  return static_cast<std::uint32_t*>(word) + (std::endian::native == std::endian::big ? 1 : 0);
}

inline void futex_wait(void* word, std::uint64_t expected, std::chrono::nanoseconds limit) {
  const timespec time{static_cast<time_t>(limit.count() / 1'000'000'000), static_cast<long>(limit.count() % 1'000'000'000)};
  syscall(SYS_futex, futex_half(word), FUTEX_WAIT, static_cast<std::uint32_t>(expected), &time, nullptr, 0);
}

inline void futex_wake_all(void* word) { syscall(SYS_futex, futex_half(word), FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0); }

// Processors that this process may run on.
inline int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// Pins the calling thread to the k-th of the processors that it may run on.
inline void pin_to(int k) {
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  CPU_ZERO(&one);
  k %= CPU_COUNT(&all);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all) || k-- > 0) continue;
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

inline std::int64_t memory_total() { return std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

// A number in /proc/meminfo, in bytes; -1 when there is none.
inline std::int64_t memory_available() {
  char text[512];
  const int fd = ::open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t size = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (size <= 0) return -1;
  text[size] = '\0';
  const char* at = std::strstr(text, "MemAvailable:");
  return at == nullptr ? -1 : std::strtoll(at + 13, nullptr, 10) * 1024;
}

// The number of the process that runs this, without a system call: the page that holds it reads as zero after a fork.
inline std::int64_t process_number() {
  static std::atomic<std::int64_t>* const page = [] {
    const std::size_t size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, size, MADV_WIPEONFORK) != 0) return static_cast<std::atomic<std::int64_t>*>(nullptr);
    return new (memory) std::atomic<std::int64_t>(0);
  }();
  if (page == nullptr) return getpid();
  std::int64_t number = page->load(std::memory_order_relaxed);
  if (number == 0) page->store(number = getpid(), std::memory_order_relaxed);
  return number;
}

}  // namespace minitorch::comm::os
