// What the tests of ranks share. Inside a rank, tests throw; the parent asserts.
// SPDX-License-Identifier: MIT
#pragma once

#include <dirent.h>

#include <chrono>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <minitorch/comm/launch.hpp>

// In tests/support/ranks.cpp.
extern template std::vector<std::string> minitorch::comm::launch_encoded<minitorch::comm::Native>(const minitorch::LaunchOptions&, int,
                                                                                                  const minitorch::comm::Body&);

namespace ranks {

namespace mt = minitorch;
using namespace std::chrono_literals;

// How long what happens at once may take; a processor that is emulated has more time.
#ifdef MINITORCH_TEST_EMULATED
inline constexpr std::chrono::seconds at_once(10);
#else
inline constexpr std::chrono::seconds at_once(1);
#endif

inline void require(bool condition, const std::string& what) {
  if (!condition) throw mt::Error("a rank found: " + what);
}

// Names in a directory, but for those that an OpenMP runtime leaves behind.
inline std::set<std::string> entries(const char* directory) {
  std::set<std::string> names;
  if (DIR* dir = opendir(directory); dir != nullptr) {
    while (const dirent* entry = readdir(dir))
      if (const std::string name = entry->d_name; name.rfind("__KMP", 0) != 0) names.insert(name);
    closedir(dir);
  }
  return names;
}

// Descriptors of this process and names in shared memory. Children: none may be left at all.
struct Traces {
  std::size_t descriptors = entries("/proc/self/fd").size();
  std::set<std::string> shared = entries("/dev/shm");

  static bool no_children() { return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

  // Whether there is nothing more than before. Names that others on this machine make and remove are looked at again.
  bool only() const {
    for (int i = 0; i < 100; ++i, std::this_thread::sleep_for(20ms)) {
      const Traces now;
      bool is_more = now.descriptors != descriptors;
      for (const std::string& name : now.shared) is_more = is_more || (name.rfind("minitorch-", 0) == 0 && shared.count(name) == 0);
      if (!is_more) return true;
    }
    return false;
  }
};

// The sum in the order that the library promises, element by element, in one process. float for narrow types.
template <class C>
C tree(const std::vector<C>& values, std::size_t first, std::size_t n) {
  if (n == 1) return values[first];
  std::size_t left = 1;
  while (left * 2 < n) left *= 2;
  const volatile C a = tree(values, first, left), b = tree(values, first + left, n - left);
  return a + b;
}

// Values whose sum depends on the order: the same on every caller that gives the same seed.
template <class T>
std::vector<T> values(std::size_t count, unsigned seed) {
  std::minstd_rand random(seed * 7919u + 17u);
  std::vector<T> out(count);
  for (T& x : out) {
    const auto bits = random();
    if constexpr (std::is_integral_v<T>)
      x = static_cast<T>(bits);
    else
      x = static_cast<T>((static_cast<float>(bits % 20011) - 10000.0f) * (bits % 3 == 0 ? 1e-3f : 1.7f));
  }
  return out;
}

template <class T>
bool same_bits(const T* a, const T* b, std::size_t count) {
  return count == 0 || std::memcmp(a, b, count * sizeof(T)) == 0;
}

inline std::vector<mt::Backend> backends() { return {mt::Backend::shm, mt::Backend::threads}; }

}  // namespace ranks
