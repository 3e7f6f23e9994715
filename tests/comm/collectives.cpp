// Every verb against its definition, calls that have begun, groups and meshes.
// SPDX-License-Identifier: MIT
#include "tests/comm/ranks.hpp"

#include <fstream>

#include <minitorch/comm/mesh.hpp>
#include <minitorch/comm/self.hpp>

#include "tests/catch.hpp"

using namespace ranks;

namespace {

// Piece r of an uneven cut of about `count` elements; some are empty.
std::vector<std::int64_t> uneven(int ranks, std::size_t count) {
  std::vector<std::int64_t> counts;
  for (int r = 0; r < ranks; ++r) counts.push_back(r % 3 == 1 ? 0 : static_cast<std::int64_t>(count) + r);
  return counts;
}

template <class T>
std::vector<T> part(const std::vector<T>& whole, std::int64_t first, std::int64_t size) {
  return {whole.begin() + first, whole.begin() + first + size};
}

// All verbs that cut an index space into pieces, in private and in shared memory.
template <class Vector>
void check_pieces(mt::Communicator& comm, std::span<const std::int64_t> counts, std::int64_t piece, const Vector& empty) {
  using T = typename Vector::value_type;
  std::int64_t all = 0, first = 0;
  for (int r = 0; r < comm.size(); ++r) {
    const std::int64_t size = counts.empty() ? piece : counts[static_cast<std::size_t>(r)];
    if (r < comm.rank()) first += size;
    all += size;
  }
  const std::int64_t own = counts.empty() ? piece : counts[static_cast<std::size_t>(comm.rank())];
  const auto fill = [&](const std::vector<T>& from) {
    Vector v = empty;
    v.assign(from.begin(), from.end());
    return v;
  };
  const auto room = [&](std::int64_t size) {
    Vector v = empty;
    v.resize(static_cast<std::size_t>(size));
    return v;
  };
  const auto same = [&](const Vector& got, const std::vector<T>& right, const char* verb) {
    require(got.size() == right.size() && same_bits(got.data(), right.data(), right.size()), mt::concat(verb, " of ", all, " elements"));
  };
  const std::vector<T> whole = values<T>(static_cast<std::size_t>(all), 5);
  const int root = comm.size() - 1;
  const bool is_root = comm.rank() == root;

  Vector gathered = room(all);
  comm.all_gather(fill(part(whole, first, own)), gathered, counts);
  same(gathered, whole, "all_gather");
  Vector in_place = room(all);
  std::copy_n(whole.begin() + first, own, in_place.begin() + first);
  comm.all_gather(std::span(in_place).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(own)), in_place, counts);
  same(in_place, whole, "all_gather in place");
  Vector at_root = room(is_root ? all : 0);
  comm.gather(fill(part(whole, first, own)), at_root, root, counts);
  if (is_root) same(at_root, whole, "gather");
  Vector piece_of_it = room(own);
  comm.scatter(is_root ? fill(whole) : empty, piece_of_it, root, counts);
  same(piece_of_it, part(whole, first, own), "scatter");

  std::vector<T> sum(static_cast<std::size_t>(all));
  const std::vector<T> mine = values<T>(static_cast<std::size_t>(all), static_cast<unsigned>(comm.rank()));
  comm.all_reduce(mine, sum);
  Vector reduced = room(own);
  comm.reduce_scatter(fill(mine), reduced, mt::Reduction::sum, counts);
  same(reduced, part(sum, first, own), "reduce_scatter");
  Vector on_root = room(is_root ? all : 0);
  comm.reduce(fill(mine), on_root, root);
  if (is_root) same(on_root, sum, "reduce");
  Vector broadcasted = is_root ? fill(whole) : room(all);
  comm.broadcast(broadcasted, root);
  same(broadcasted, whole, "broadcast");
}

}  // namespace

TEST_CASE("C-02 C-03 every verb does what it says: all sizes, uneven and empty pieces, private and shared memory, one rank and more") {
  for (mt::Backend backend : backends())
    for (int n : {1, 2, 3, 5})
      mt::launch({.backend = backend, .deadline = 60s}, n, [](mt::Communicator& comm) {
        for (std::size_t piece : {0u, 1u, 3u, 16u, 200u, 1025u, 70001u}) {
          check_pieces(comm, {}, static_cast<std::int64_t>(piece), std::vector<float>());
          check_pieces(comm, {}, static_cast<std::int64_t>(piece), std::pmr::vector<float>(comm.memory()));
          check_pieces(comm, uneven(comm.size(), piece), 0, std::vector<mt::bfloat16>());
          check_pieces(comm, uneven(comm.size(), piece), 0, std::pmr::vector<double>(comm.memory()));
        }
      });
}

TEST_CASE("C-03 a rank alone needs no launch") {
  mt::SelfCommunicator comm;
  for (std::int64_t piece : {0, 1, 5000}) {
    check_pieces(comm, {}, piece, std::vector<float>());
    check_pieces(comm, {}, piece, std::vector<mt::half>());
  }
  std::vector<double> x{1, 2};
  comm.start_all_reduce(x, mt::Reduction::average).wait();
  CHECK(x == std::vector<double>{1, 2});
  CHECK(mt::Mesh(comm, {{"data", 1}})["data"].size() == 1);
  CHECK_THROWS_AS(comm.broadcast(x, 1), mt::ArgumentError);
  CHECK_THROWS_AS(comm.send(x, 0), mt::ArgumentError);
}

TEST_CASE("index 0 of a piece may lie, if it existed, where shared memory begins or before") {
  mt::launch({.arena = 16 << 20}, 2, [](mt::Communicator& comm) {
    const auto group = comm.split(0, -comm.rank());  // its rank 1 has the lower arena
    std::pmr::vector<std::byte> last(5000, std::byte{7}, comm.memory());
    std::int64_t distance = 0;  // of `last` from the beginning of the shared mapping
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      unsigned long from = 0, to = 0;
      std::sscanf(line.c_str(), "%lx-%lx", &from, &to);
      const auto address = reinterpret_cast<std::uintptr_t>(last.data());
      if (from <= address && address < to) distance = static_cast<std::int64_t>(address - from);
    }
    std::array<std::int64_t, 1> first{distance};
    group->broadcast(first, 1);
    require(first[0] > 0, "the mapping");
    for (std::int64_t before : {-2, -1, 0, 1, 2}) {
      const std::vector<std::int64_t> counts{first[0] + before, 5000};
      const std::vector<std::byte> large(group->rank() == 0 ? static_cast<std::size_t>(counts[0]) : 0, std::byte{3});
      std::vector<std::byte> all(static_cast<std::size_t>(counts[0] + counts[1]));
      group->rank() == 0 ? group->all_gather(large, all, counts) : group->all_gather(last, all, counts);
      require(all[static_cast<std::size_t>(counts[0]) - 1] == std::byte{3} && all[static_cast<std::size_t>(counts[0])] == std::byte{7} &&
                  all.back() == std::byte{7},
              "a piece");
    }
  });
}

TEST_CASE("one rank sends, another receives, others do what they want") {
  for (mt::Backend backend : backends())
    mt::launch({.backend = backend}, 3, [](mt::Communicator& comm) {
      for (std::size_t count : {0u, 1u, 17u, 1000u, 100000u}) {
        const std::vector<std::byte> sent(count, static_cast<std::byte>(count));
        std::vector<std::byte> got(count);
        const int right = (comm.rank() + 1) % 3, left = (comm.rank() + 2) % 3;
        if (comm.rank() == 0) comm.send(sent, right);
        comm.recv(got, left);
        if (comm.rank() != 0) comm.send(sent, right);
        require(got == sent, "received something else");
      }
      if (comm.rank() == 2) return;
      std::vector<float> a(5), b(6);
      bool refused = false;
      try {
        comm.rank() == 0 ? comm.send(a, 1) : comm.recv(b, 0);
      } catch (const mt::CollectiveMismatch& e) {
        refused = std::string(e.what()).find("5 x float32") != std::string::npos;
      }
      require(refused, "sizes of a send and its recv differ");
    });
}

TEST_CASE("C-11 calls that have begun end in any order, keep what they are given, and may be dropped") {
  for (mt::Backend backend : backends())
    mt::launch({.backend = backend}, 3, [](mt::Communicator& comm) {
      for (int round = 0; round < 20; ++round) {
        std::vector<std::vector<float>> data;
        std::vector<mt::Work> works;
        for (std::size_t k = 0; k < 20; ++k) data.emplace_back(k * 700 + 1, static_cast<float>(comm.rank() + 1));
        for (auto& x : data) works.push_back(comm.start_all_reduce(x));
        comm.barrier();  // other calls come between
        for (std::size_t k = works.size(); k-- > 0;) works[k].wait();
        for (auto& x : data)
          for (float v : x) require(v == 6, "a begun sum");

        const auto held = std::make_shared<std::pmr::vector<double>>(5000, 1.0, comm.memory());
        {
          auto owner = std::make_shared<std::pmr::vector<double>>(*held, comm.memory());
          comm.start_all_reduce(*owner).keep(owner);  // dropped at once: it waits
          require(owner->back() == 3 && owner.use_count() == 1, "a dropped call has ended");
        }
      }
      const mt::Work nothing;
      require(nothing.done(), "an empty Work is done");
    });
}

TEST_CASE("C-11 a long call is done by who waits for it, while the last to begin it is elsewhere") {
  for (mt::Backend backend : backends()) {
    const auto times = mt::launch({.backend = backend}, 2, [](mt::Communicator& comm) {
      const auto now = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
      std::pmr::vector<float> x(300001, static_cast<float>(comm.rank() + 1), comm.memory());
      if (comm.rank() == 1) std::this_thread::sleep_for(50ms);
      mt::Work work = comm.start_all_reduce(x);
      if (comm.rank() == 1) std::this_thread::sleep_for(1s);
      const double woken = now();
      work.wait();
      for (float v : x) require(v == 3, "a begun sum");
      return std::vector{woken, now()};
    });
    CHECK(times[0][1] < times[1][0]);
  }
}

TEST_CASE("C-11 an exception that drops a begun call is the first cause, at once") {
  const auto began = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH(mt::launch(3,
                               [](mt::Communicator& comm) {
                                 std::vector<float> x(1000);
                                 if (comm.rank() == 1) {
                                   const mt::Work work = comm.start_all_reduce(x);
                                   throw mt::ArgumentError("in the middle");
                                 }
                                 comm.barrier();
                               }),
                    "launch: rank 1: in the middle");
  CHECK(std::chrono::steady_clock::now() - began < at_once);
}

TEST_CASE("C-12 C-14 P-18 groups: rows and columns interleaved, ranks of the group, any order of their ends") {
  for (mt::Backend backend : backends())
    mt::launch({.backend = backend}, 4, [](mt::Communicator& comm) {
      const mt::Mesh mesh(comm, {{"row", 2}, {"column", 2}});
      mt::Communicator &row = mesh["row"], &column = mesh["column"];
      require(row.size() == 2 && row.rank() == comm.rank() / 2 && column.rank() == comm.rank() % 2, "coordinates");
      require(row.world_rank(0) == comm.rank() % 2 && column.world_rank(1) == comm.rank() / 2 * 2 + 1, "world ranks");
      const auto twin_a = comm.split(0, comm.rank()), twin_b = comm.split(0, -comm.rank());  // the same members, in both orders
      require(twin_a->rank() == comm.rank() && twin_b->rank() == 3 - comm.rank(), "keys order a group");
      for (int i = 0; i < 1000; ++i) {
        std::array<float, 3> x{1, 2, static_cast<float>(comm.rank())};
        (i % 2 == 0 ? row : column).all_reduce(x);
        (i % 2 == 0 ? column : row).all_reduce(x);
        require(x[0] == 4 && x[2] == 6, "rows and columns");
        std::array<std::int32_t, 1> who{comm.rank()};
        (i % 3 == 0 ? *twin_a : *twin_b).broadcast(who, 1);
        require(who[0] == (i % 3 == 0 ? 1 : 2), "root is a rank of the group");
      }
      std::array<float, 1> x{};
      bool refused = false;
      try {
        row.broadcast(x, 3);
      } catch (const mt::ArgumentError& e) {
        refused = std::string(e.what()) == "broadcast: root must be a rank of the group, got 3 of 2";
      }
      require(refused, "a global rank is refused");
      const auto none = comm.split(comm.rank() == 0 ? -1 : 7);
      require((none == nullptr) == (comm.rank() == 0), "a negative color gets no group");
      for (int i = 0; i < 300; ++i) {  // room is given back
        auto one = comm.split(comm.rank() % 2), other = comm.split(0);
        if (comm.rank() % 2 == 0) one.reset();
        if (other->size() == 4) other->barrier();
      }
    });
}

TEST_CASE("C-09 counts beyond 2^31 are counted, cut and moved right") {
  const std::int64_t count = (std::int64_t{1} << 31) + 3;
  const mt::comm::Call call{.verb = mt::comm::Verb::reduce_scatter, .count = 4 * count};
  CHECK(call.piece(3, 4).first == 3 * count);
  CHECK(mt::comm::detail::share({0, count}, 1, 2, 1).last == count);
#ifndef __SANITIZE_THREAD__  // which keeps several times as many bytes about them
  // Two ranges of so many bytes, whose every 2 MiB are the same memory.
  const std::size_t piece = std::size_t{1} << 21, pieces = static_cast<std::size_t>(count) / piece + 1;
  const auto repeated = [&](unsigned char fill) {
    const int fd = memfd_create("pattern", 0);
    require(ftruncate(fd, static_cast<off_t>(piece)) == 0, "memory");
    auto* const base =
        static_cast<unsigned char*>(mmap(nullptr, piece * pieces, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (std::size_t k = 0; k < pieces; ++k) mmap(base + k * piece, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    close(fd);
    std::memset(base, fill, piece);
    return base;
  };
  unsigned char *const from = repeated(7), *const to = repeated(0);
  mt::launch(2, [&](mt::Communicator& comm) {
    std::string text;
    try {
      comm.send(std::span(from, static_cast<std::size_t>(comm.rank() == 0 ? count * 2 : count * 2 + (1l << 32))), 1 - comm.rank());
    } catch (const mt::CollectiveMismatch& e) {
      text = e.what();
    }
    require(text.find("4294967302 x uint8") != text.npos && text.find("8589934598 x uint8") != text.npos, "sizes 2^32 apart: " + text);
  });
  mt::launch({.backend = mt::Backend::threads}, 2,
             [&](mt::Communicator& comm) { comm.broadcast(std::span(comm.rank() == 0 ? from : to, static_cast<std::size_t>(count)), 0); });
  CHECK(to[0] == 7);
  CHECK(to[piece - 1] == 7);
  CHECK(to[count - 1] == 7);
  munmap(from, piece * pieces);
  munmap(to, piece * pieces);
#endif
}

TEST_CASE("C-15 a group that only some ranks make is an error on all of them") {
  mt::launch(3, [](mt::Communicator& comm) {
    bool refused = false;
    try {
      comm.rank() == 2 ? comm.barrier() : void(comm.split(0));
    } catch (const mt::CollectiveMismatch& e) {
      refused = std::string(e.what()).find("split") != std::string::npos && std::string(e.what()).find("barrier") != std::string::npos;
    }
    require(refused, "split against barrier");
    require(comm.split(1)->size() == 3, "the group goes on");
  });
}

TEST_CASE("C-01 bad arguments are an error on every rank: sizes, roots, counts, overlaps; strided memory does not compile") {
  static_assert(!mt::WireRange<std::vector<bool>> && mt::WireRange<std::span<const float>> && !mt::WireOutput<std::span<const float>>);
  mt::launch(3, [](mt::Communicator& comm) {
    const bool odd = comm.rank() == 1;
    std::vector<float> x(3000, 2.0f), y(3000);
    const auto refused = [&](auto&& call, const char* text) {
      std::string what;
      try {
        call();
      } catch (const mt::ArgumentError& e) {
        what = odd ? e.what() : "the wrong rank";
      } catch (const mt::CollectiveMismatch& e) {
        what = odd ? "no ArgumentError" : text;
        require(std::string(e.what()).find("invalid arguments") != std::string::npos, e.what());
      }
      require(what.find(text) != what.npos, mt::concat("expected ", text, ", got ", what));
      require(x == std::vector<float>(3000, 2.0f), "data changed");
    };
    refused([&] { comm.broadcast(x, odd ? 3 : 0); }, "root must be a rank of the group, got 3 of 3");
    refused([&] { comm.all_reduce(x, std::span(y).first(odd ? 2999 : 3000)); }, "out must hold 3000 elements, got 2999");
    refused([&] { comm.all_reduce(std::span(x).first(2000), odd ? std::span(x).subspan(1, 2000) : std::span(y).first(2000)); },
            "in and out overlap without being in place");
    const std::vector<std::int64_t> right{1000, 1000, 1000}, negative{2000, 2000, -1000};
    refused([&] { comm.all_gather(std::span(x).first(1000), y, odd ? negative : right); }, "a count must not be negative, got -1000");
  });
  // Threads see all memory, so ranks may by mistake share a buffer.
  std::vector<float> shared(3000, 1.0f);
  mt::launch({.backend = mt::Backend::threads}, 2, [&](mt::Communicator& comm) {
    bool refused = false;
    try {
      comm.all_reduce(shared);
    } catch (const mt::CollectiveMismatch& e) {
      refused = std::string(e.what()).find("overlap") != std::string::npos;
    }
    require(refused && shared == std::vector<float>(3000, 1.0f), "one buffer for two ranks");
  });
}
