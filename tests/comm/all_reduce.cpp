// all_reduce: the bits of the fixed tree, whatever the size, the memory, the backend and the number of ranks.
// SPDX-License-Identifier: MIT
#include "tests/comm/ranks.hpp"

#include <thread>

#include "tests/catch.hpp"

using namespace ranks;

namespace {

template <class T>
std::vector<T> expected(std::size_t count, int ranks, mt::Reduction reduction) {
  using C = mt::compute_t<T>;
  std::vector<std::vector<T>> all;
  for (int r = 0; r < ranks; ++r) all.push_back(values<T>(count, static_cast<unsigned>(r)));
  std::vector<T> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      std::make_unsigned_t<T> sum = 0;
      for (auto& v : all) sum = static_cast<std::make_unsigned_t<T>>(sum + static_cast<std::make_unsigned_t<T>>(v[i]));
      out[i] = static_cast<T>(sum);
    } else {
      std::vector<C> column;
      for (auto& v : all) column.push_back(static_cast<C>(v[i]));
      C sum = tree(column, 0, column.size());
      if (reduction == mt::Reduction::average) sum = sum / static_cast<C>(ranks);
      if (reduction == mt::Reduction::min) sum = *std::min_element(column.begin(), column.end());
      if (reduction == mt::Reduction::max) sum = *std::max_element(column.begin(), column.end());
      out[i] = static_cast<T>(sum);
    }
  }
  return out;
}

template <class T>
void check(mt::Communicator& comm, std::size_t count, mt::Reduction reduction) {
  const std::vector<T> right = expected<T>(count, comm.size(), reduction), mine = values<T>(count, static_cast<unsigned>(comm.rank()));
  const auto hold = [&](const T* got, const char* where) {
    require(same_bits(got, right.data(), count), mt::concat(count, " elements in ", where, " memory differ from the tree"));
  };
  std::vector<T> inside = mine, out(count);
  comm.all_reduce(inside, reduction);
  hold(inside.data(), "private");
  comm.all_reduce(mine, out, reduction);
  hold(out.data(), "separate private");
  for (std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    std::pmr::vector<T> shared(count + offset, comm.memory());
    std::copy(mine.begin(), mine.end(), shared.begin() + static_cast<std::ptrdiff_t>(offset));
    comm.all_reduce(std::span(shared).subspan(offset), reduction);
    hold(shared.data() + offset, "shared");
  }
  // One rank private, the others shared.
  std::pmr::vector<T> shared(mine.begin(), mine.end(), comm.memory());
  inside = mine;
  const auto mixed = comm.rank() == comm.size() - 1 ? std::span<T>(inside) : std::span<T>(shared);
  comm.all_reduce(mixed, reduction);
  hold(mixed.data(), "mixed");
}

// Around the boundaries of the algorithms in floats: 80 bytes, 1 KiB, 8 KiB, a chunk of three and of two ranks.
const std::size_t sizes[] = {0,    1,    2,    8,     9,     19,    20,    21,    31,    32,    33,     255,    256,    257,
                             1023, 2048, 2049, 33333, 65535, 65536, 65537, 87039, 87040, 87041, 131071, 131072, 131073, 1000003};

}  // namespace

TEST_CASE("the sum of ranks has the bits of the tree over them for every type, size, memory, backend and number of ranks", "[comm]") {
  for (mt::Backend backend : backends())
    for (int n : {1, 2, 3, 4, 5, 8})
      mt::launch({.backend = backend, .deadline = 60s}, n, [](mt::Communicator& comm) {
        for (std::size_t count : sizes) {
          if (comm.size() > 3 && count > 40000) continue;
          check<float>(comm, count, mt::Reduction::sum);
          if (count > 5000) continue;
          check<double>(comm, count, mt::Reduction::sum);
          check<mt::half>(comm, count, mt::Reduction::sum);
          check<mt::bfloat16>(comm, count, mt::Reduction::sum);
          check<std::int64_t>(comm, count, mt::Reduction::sum);
        }
        for (std::size_t count : {std::size_t{5}, std::size_t{600}, std::size_t{5000}}) {
          check<std::int32_t>(comm, count, mt::Reduction::sum);
          check<std::uint8_t>(comm, count, mt::Reduction::sum);
          for (mt::Reduction reduction : {mt::Reduction::average, mt::Reduction::min, mt::Reduction::max}) {
            check<float>(comm, count, reduction);
            check<double>(comm, count, reduction);
            check<mt::half>(comm, count, reduction);
            check<mt::bfloat16>(comm, count, reduction);
          }
        }
      });
}

TEST_CASE("the bits of a sum do not depend on who comes when: a hundred rounds with random delays", "[comm]") {
  for (mt::Backend backend : backends())
    for (int n : {2, 3})
      mt::launch({.backend = backend, .deadline = 60s}, n, [](mt::Communicator& comm) {
        std::minstd_rand random(static_cast<unsigned>(comm.rank()) + 1);
        const std::vector<float> sums[] = {
            expected<float>(7, comm.size(), mt::Reduction::sum), expected<float>(200, comm.size(), mt::Reduction::sum),
            expected<float>(5000, comm.size(), mt::Reduction::sum), expected<float>(90000, comm.size(), mt::Reduction::sum)};
        for (std::size_t round = 0; round < 100; ++round) {
          const std::vector<float>& right = sums[round % 4];
          const std::size_t count = right.size();
          std::vector<float> x = values<float>(count, static_cast<unsigned>(comm.rank()));
          std::pmr::vector<float> shared(x.begin(), x.end(), comm.memory());
          const auto late = [&] { std::this_thread::sleep_for(std::chrono::microseconds(random() % 300)); };
          late();
          comm.all_reduce(x);
          late();
          comm.all_reduce(shared);
          require(same_bits(x.data(), right.data(), count) && same_bits(shared.data(), right.data(), count), "other bits");
        }
      });
}

TEST_CASE("C-07 a NaN on any rank is in the minimum, the maximum and the sum of all", "[comm]") {
  mt::launch(4, [](mt::Communicator& comm) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (int holder = 0; holder < 4; ++holder)
      for (mt::Reduction reduction : {mt::Reduction::min, mt::Reduction::max, mt::Reduction::sum, mt::Reduction::average}) {
        std::vector<float> x(37, static_cast<float>(comm.rank() + 1));
        if (comm.rank() == holder) x[5] = x[36] = nan;
        comm.all_reduce(x, reduction);
        for (std::size_t i = 0; i < x.size(); ++i) require(std::isnan(x[i]) == (i == 5 || i == 36), "NaN lost or spread");
      }
  });
}

TEST_CASE("C-10 integers wrap, bool has and and or but no sum", "[comm]") {
  mt::launch(3, [](mt::Communicator& comm) {
    std::vector<std::int64_t> x{std::numeric_limits<std::int64_t>::max(), -1};
    comm.all_reduce(x);
    require(x[0] == std::numeric_limits<std::int64_t>::max() - 2 && x[1] == -3, "two's complement");
    std::vector<std::int32_t> low{comm.rank() - 1}, high = low;
    comm.all_reduce(low, mt::Reduction::min);
    comm.all_reduce(high, mt::Reduction::max);
    require(low[0] == -1 && high[0] == 1, "min, max");
    std::array<bool, 3> all{true, comm.rank() != 1, false}, any{comm.rank() == 2, false, true};
    comm.all_reduce(all, mt::Reduction::bit_and);
    comm.all_reduce(any, mt::Reduction::bit_or);
    require(all == std::array<bool, 3>{true, false, false} && any == std::array<bool, 3>{true, false, true}, "and, or");
    bool refused = false;
    try {
      comm.all_reduce(all);
    } catch (const mt::ArgumentError& e) {
      refused = std::string(e.what()) == "all_reduce: sum is not defined for bool";
    }
    require(refused, "a sum of bool is refused");
    comm.barrier();  // and the group goes on
  });
}
