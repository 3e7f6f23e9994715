// Collectives between processes: ours in shared and in private memory, the limit without copies, and the MPIs and Gloo that are installed.
// SPDX-License-Identifier: MIT
// Run: bench_collectives [ranks=2,4] [quick] [alone] [best]. Microseconds a call: medians of batches that alternate between the columns of
// ours, or the best batch, which other programs on the machine disturb less. The peers run after it, a minute each at most, unless it is to
// be alone. "limit": each rank reduces its slice of all buffers straight into all outputs between two barriers, nothing else.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <minitorch/comm/launch.hpp>

namespace mt = minitorch;

namespace {

struct Size {
  std::int64_t bytes;
  int calls, batches;  // calls a batch
};

struct Row {
  double limit, shared, private_memory, begun, barrier, broadcast, all_gather, reduce_scatter;
};

bool best = false;

double typical(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[best ? 0 : times.size() / 2];
}

// The hand-written all-reduce that nothing can beat without fewer bytes.
void limit(mt::Communicator& comm, const std::vector<float*>& buffers, std::int64_t count) {
  const auto n = static_cast<std::int64_t>(comm.size());
  const std::int64_t lines = (count + 31) / 32;
  const std::int64_t first = lines * comm.rank() / n * 32, last = (std::min)(lines * (comm.rank() + 1) / n * 32, count);
  comm.barrier();
  for (std::int64_t i = first; i < last; i += 2048) {
    const std::int64_t block = (std::min)(std::int64_t{2048}, last - i);
    float *a = buffers[0] + i, *b = buffers[1] + i;
    if (n == 2) {
      mt::kernels::map(
          block, [](const auto& x, const auto& y) { return std::tuple(x + y, x + y); }, std::tuple(a, b), a, b);
    } else {
      float *c = buffers[2] + i, *d = buffers[3] + i;
      mt::kernels::map(
          block,
          [](const auto& x, const auto& y, const auto& z, const auto& w) {
            const auto sum = (x + y) + (z + w);
            return std::tuple(sum, sum, sum, sum);
          },
          std::tuple(a, b, c, d), a, b, c, d);
    }
  }
  comm.barrier();
}

Row measure(mt::Communicator& comm, const Size& size) {
  const auto count = static_cast<std::size_t>(size.bytes) / sizeof(float), n = static_cast<std::size_t>(comm.size());
  std::pmr::vector<float> shared(count, 0.0f, comm.memory()), pieces(count / n, 0.0f, comm.memory()),
      whole(count / n * n, 0.0f, comm.memory());
  std::vector<float> own(count);
  // Memory is mapped before ranks are forked: addresses mean the same on all of them.
  std::vector<std::int64_t> addresses(n);
  comm.all_gather(std::vector{static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(shared.data()))}, addresses);
  std::vector<float*> buffers;
  for (std::int64_t a : addresses) buffers.push_back(reinterpret_cast<float*>(static_cast<std::uintptr_t>(a)));

  std::vector<std::vector<double>> times(8);
  const auto batch = [&](std::size_t column, auto&& call) {
    call();  // brings the data where this column needs it
    comm.barrier();
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < size.calls; ++i) call();
    times[column].push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count() / size.calls);
  };
  for (int b = 0; b <= size.batches; ++b) {
    batch(0, [&] { limit(comm, buffers, static_cast<std::int64_t>(count)); });
    batch(1, [&] { comm.all_reduce(shared); });
    batch(2, [&] { comm.all_reduce(own); });
    batch(3, [&] { comm.start_all_reduce(shared).wait(); });
    batch(4, [&] { comm.barrier(); });
    batch(5, [&] { comm.broadcast(shared, 0); });
    batch(6, [&] { comm.all_gather(pieces, whole); });
    batch(7, [&] { comm.reduce_scatter(whole, pieces); });
    if (b == 0)
      for (auto& t : times) t.clear();  // the first one touches the pages
  }
  return {typical(times[0]), typical(times[1]), typical(times[2]), typical(times[3]),
          typical(times[4]), typical(times[5]), typical(times[6]), typical(times[7])};
}

// The sums of ours and of the limit, checked against the plain loop before anything is timed.
void check(mt::Communicator& comm) {
  std::pmr::vector<float> x(100003, 0.0f, comm.memory());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000) * 0.37f + static_cast<float>(comm.rank());
  std::pmr::vector<float> before(x, comm.memory());
  std::vector<float> everything(x.size() * static_cast<std::size_t>(comm.size()));
  comm.all_gather(before, everything);
  comm.all_reduce(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    double sum = 0;
    for (int r = 0; r < comm.size(); ++r) sum += everything[static_cast<std::size_t>(r) * x.size() + i];
    if (std::abs(sum - x[i]) > 1e-6 * std::abs(sum) + 1e-6) throw mt::Error("a wrong sum");
  }
}

// "all_reduce bytes microseconds" lines of a command.
std::map<std::int64_t, double> run_peer(const std::string& command) {
  std::map<std::int64_t, double> times;
  FILE* const pipe = popen(("timeout 60 " + command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return times;
  char line[256];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    long bytes = 0;
    double time = 0;
    if (std::sscanf(line, "all_reduce %ld %lf", &bytes, &time) == 2) times[bytes] = time;
  }
  pclose(pipe);
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> wished{2, 4};
  bool quick = false, alone = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "quick") quick = true;
    if (std::string(argv[i]) == "alone") alone = true;
    if (std::string(argv[i]) == "best") best = true;
    if (std::string(argv[i]).rfind("ranks=", 0) == 0) {
      wished.clear();
      for (const char* at = argv[i] + 5; at != nullptr && *at != '\0'; at = std::strchr(at + 1, ',')) wished.push_back(std::atoi(at + 1));
    }
  }
  // Many short batches: most of them are over before the machine does something else.
  std::vector<Size> sizes{{8, 200, 101},       {1 << 10, 100, 101}, {4 << 10, 50, 101}, {32 << 10, 20, 101},
                          {256 << 10, 4, 101}, {1 << 20, 1, 101},   {16 << 20, 1, 15},  {64 << 20, 1, 9}};
  if (quick) sizes.resize(6);
  const std::filesystem::path here = BENCH_PEERS;
  const auto scratch = std::filesystem::temp_directory_path() / fmt::format("minitorch-bench-{}", getpid());
  std::filesystem::create_directory(scratch);
  const auto found = [](const std::string& program) { return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0; };

  for (const int ranks : wished) {
    if (ranks != 2 && ranks != 4) {
      fmt::print(stderr, "bench_collectives: ranks must be 2 or 4\n");
      return 2;
    }
    mt::launch(ranks, check);
    std::vector<Row> rows;
    for (const Size& size : sizes)
      rows.push_back(mt::launch({.pin = true}, ranks, [&](mt::Communicator& comm) { return measure(comm, size); })[0]);
    std::string arguments = best ? " best" : " median";
    for (const Size& size : sizes) arguments += fmt::format(" {} {} {}", size.bytes, size.calls, size.batches);
    std::map<std::string, std::map<std::int64_t, double>> peers;
    for (const char* mpi : {"openmpi", "mpich"}) {
      if (alone) break;
      const std::string compiler = fmt::format("mpicc.{}", mpi), start = fmt::format("mpirun.{}", mpi), program = (scratch / mpi).string();
      if (!found(compiler) ||
          std::system(fmt::format("{} -O2 {} -o {}", compiler, (here / "collectives_mpi.c").string(), program).c_str()) != 0)
        continue;
      const bool open = std::string(mpi) == "openmpi";
      peers[mpi] =
          run_peer(fmt::format("{} {} -n {} {}{}", start, open ? "--allow-run-as-root --oversubscribe" : "", ranks, program, arguments));
    }
    if (!alone && std::system("/usr/bin/python3 -c 'import torch.distributed' >/dev/null 2>&1") == 0)
      peers["gloo"] = run_peer(fmt::format("/usr/bin/python3 {} {}{}", (here / "collectives_gloo.py").string(), ranks, arguments));

    fmt::print("all_reduce of float32, {} ranks on {} processors, us a call\n", ranks, mt::comm::os::processors());
    fmt::print("{:>9} {:>9} {:>9} {:>8} {:>9} {:>9}", "bytes", "limit", "shared", "% limit", "private", "begun");
    for (const auto& [name, times] : peers) fmt::print(" {:>9}", name);
    fmt::print(" {:>9} {:>9}\n", "x best", "GB/s");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Row& r = rows[i];
      fmt::print("{:>9} {:>9.2f} {:>9.2f} {:>8.1f} {:>9.2f} {:>9.2f}", sizes[i].bytes, r.limit, r.shared, 100 * r.limit / r.shared,
                 r.private_memory, r.begun);
      double peer = 1e30;
      for (auto& [name, times] : peers) {
        fmt::print(" {:>9.2f}", times[sizes[i].bytes]);
        if (times[sizes[i].bytes] > 0) peer = (std::min)(peer, times[sizes[i].bytes]);
      }
      fmt::print(" {:>9.2f} {:>9.2f}\n", peer < 1e30 ? peer / r.shared : 0.0, static_cast<double>(sizes[i].bytes) / r.shared / 1e3);
    }
    fmt::print("other verbs, shared memory, us a call\n{:>9} {:>9} {:>9} {:>10} {:>14}\n", "bytes", "barrier", "broadcast", "all_gather",
               "reduce_scatter");
    for (std::size_t i = 0; i < sizes.size(); ++i)
      fmt::print("{:>9} {:>9.2f} {:>9.2f} {:>10.2f} {:>14.2f}\n", sizes[i].bytes, rows[i].barrier, rows[i].broadcast, rows[i].all_gather,
                 rows[i].reduce_scatter);
  }
  std::filesystem::remove_all(scratch);
}
