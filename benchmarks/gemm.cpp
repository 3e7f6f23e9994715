// Products against the peak of the machine and against its peers: the shapes, scalars and forms of training.
// SPDX-License-Identifier: MIT
// peers: openblas dnnl
// Run: bench_gemm [float32 float64 float16 bfloat16 ...] [quick] [threads=1|2]. Prints per cent of the peak of the same run: fused
// multiply-adds for float64, float32 and float16, the dot product for bfloat16 where the processor has one. Forms: NN is x W, NT x W^T
// (a Linear forward, and x's gradient), TN x^T W (a weight's gradient). One thread is timed by its processor time, several by the clock.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <benchmarks/peak.hpp>
#include <minitorch/core/parallel_for.hpp>
#include <minitorch/kernels/gemm.hpp>
#include <minitorch/memory/workspace.hpp>

#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif
#ifdef BENCH_DNNL
#include <dnnl.hpp>
#endif

namespace mt = minitorch;

using mt::kernels::Matrix;
using std::int64_t;

namespace {

struct Shape {
  int64_t m, n, k;
  bool ta, tb;
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

// The operands of one product, row-major, aligned to 64 bytes as tensors are, and a sample of the result in double.
template <class T>
struct Operands {
  explicit Operands(const Shape& s) : shape(s), lda(s.ta ? s.m : s.k), ldb(s.tb ? s.k : s.n), a(s.m * s.k), b(s.k * s.n), c(s.m * s.n) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < s.m * s.k; ++i) a[i] = T(uniform(random));
    for (int64_t i = 0; i < s.k * s.n; ++i) b[i] = T(uniform(random));
  }

  double a_at(int64_t i, int64_t p) const { return static_cast<double>(a[shape.ta ? p * lda + i : i * lda + p]); }
  double b_at(int64_t p, int64_t j) const { return static_cast<double>(b[shape.tb ? j * ldb + p : p * ldb + j]); }

  // Whether 200 elements of c, the corners among them, are within the rounding of sums of k numbers.
  bool right() const {
    const double sum_error = std::is_same_v<T, double> ? 1e-15 : 1e-6, error = mt::is_narrow<T> ? 0x1p-8 : 0;
    std::mt19937 random(2);
    for (int sample = 0; sample < 200; ++sample) {
      const int64_t i = sample < 4 ? (sample & 1) * (shape.m - 1) : static_cast<int64_t>(random()) % shape.m;
      const int64_t j = sample < 4 ? (sample >> 1) * (shape.n - 1) : static_cast<int64_t>(random()) % shape.n;
      double sum = 0, size = 0;
      for (int64_t p = 0; p < shape.k; ++p) {
        const double product = a_at(i, p) * b_at(p, j);
        sum += product;
        size += std::fabs(product);
      }
      const double got = static_cast<double>(c[i * shape.n + j]);
      if (!(std::fabs(got - sum) <= sum_error * size + error * std::fabs(sum))) return false;
    }
    return true;
  }

  Shape shape;
  int64_t lda, ldb;
  mt::Workspace<T> a, b, c;
};

template <class T>
void with_minitorch(Operands<T>& o) {
  const auto& s = o.shape;
  mt::kernels::gemm(1, s.m, s.n, s.k, Matrix<const T>{o.a.data(), o.lda, s.ta}, Matrix<const T>{o.b.data(), o.ldb, s.tb},
                    Matrix<T>{o.c.data(), s.n}, false);
}

template <class T>
void with_eigen(Operands<T>& o) {
  using M = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto& s = o.shape;
  const Eigen::Map<const M> a(o.a.data(), s.ta ? s.k : s.m, o.lda), b(o.b.data(), s.tb ? s.n : s.k, o.ldb);
  Eigen::Map<M> c(o.c.data(), s.m, s.n);
  if (s.ta)
    c.noalias() = a.transpose() * b;
  else if (s.tb)
    c.noalias() = a * b.transpose();
  else
    c.noalias() = a * b;
}

#ifdef BENCH_OPENBLAS
template <class T>
void with_openblas(Operands<T>& o) {
  const auto& s = o.shape;
  const auto ta = s.ta ? CblasTrans : CblasNoTrans, tb = s.tb ? CblasTrans : CblasNoTrans;
  const auto i = [](int64_t x) { return static_cast<blasint>(x); };
  if constexpr (std::is_same_v<T, float>)
    cblas_sgemm(CblasRowMajor, ta, tb, i(s.m), i(s.n), i(s.k), 1, o.a.data(), i(o.lda), o.b.data(), i(o.ldb), 0, o.c.data(), i(s.n));
  else
    cblas_dgemm(CblasRowMajor, ta, tb, i(s.m), i(s.n), i(s.k), 1, o.a.data(), i(o.lda), o.b.data(), i(o.ldb), 0, o.c.data(), i(s.n));
}
#endif

#ifdef BENCH_DNNL
template <class T>
std::function<void()> with_dnnl(Operands<T>& o) {
  using dnnl::memory;
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static dnnl::stream stream(engine);
  constexpr auto type = std::is_same_v<T, float> ? memory::data_type::f32 : memory::data_type::bf16;
  const auto& s = o.shape;
  const memory::desc a({s.m, s.k}, type, s.ta ? memory::dims{1, o.lda} : memory::dims{o.lda, 1});
  const memory::desc b({s.k, s.n}, type, s.tb ? memory::dims{1, o.ldb} : memory::dims{o.ldb, 1});
  const memory::desc c({s.m, s.n}, type, memory::dims{s.n, 1});
  const dnnl::matmul product(dnnl::matmul::primitive_desc({a, b, c}, engine));
  const std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, memory(a, engine, o.a.data())},
                                                  {DNNL_ARG_WEIGHTS, memory(b, engine, o.b.data())},
                                                  {DNNL_ARG_DST, memory(c, engine, o.c.data())}};
  return [product, arguments] {
    product.execute(stream, arguments);
    stream.wait();
  };
}
#endif

double now(bool processor) {
  timespec t{};
  clock_gettime(processor ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

template <class T>
double peak(int64_t rounds) {
  namespace detail = mt::kernels::detail;
  if constexpr (std::is_same_v<T, mt::bfloat16>) {
    if (mt::kernels::isa() >= mt::kernels::Isa::avx512_bf16) return bench::peak_flops<detail::Bf16Arithmetic>(rounds);
  }
  if constexpr (std::is_same_v<T, double>) return bench::peak_flops<detail::DoubleArithmetic>(rounds);
  return bench::peak_flops<detail::FloatArithmetic>(rounds);
}

struct Contender {
  std::string name;
  std::function<void()> run;
  std::vector<double> rates;
};

// Times all contenders in turn, round after round, with the peak in between.
template <class T>
void measure(const char* type, const Shape& shape, int threads, double seconds) {
  Operands<T> o(shape);
  std::vector<Contender> contenders{{"minitorch", [&] { with_minitorch(o); }, {}}};
  if (!mt::is_narrow<T> || shape.flops() < 1e7) contenders.push_back({"Eigen", [&] { with_eigen(o); }, {}});
#ifdef BENCH_OPENBLAS
  if constexpr (!mt::is_narrow<T>) contenders.push_back({"OpenBLAS", [&] { with_openblas(o); }, {}});
#endif
#ifdef BENCH_DNNL
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, mt::bfloat16>) contenders.push_back({"oneDNN", with_dnnl(o), {}});
#endif
  for (auto& c : contenders) {
    std::fill_n(o.c.data(), shape.m * shape.n, T(0));
    c.run();
    if (c.name != "Eigen" && !o.right()) {  // Eigen sums narrow types in narrow types
      fmt::print("{} is wrong: {} {} x {} x {}\n", c.name, type, shape.m, shape.n, shape.k);
      std::exit(1);
    }
  }
  const bool processor = threads == 1;
  const auto repeats = (std::max)(int64_t{1}, static_cast<int64_t>(3e7 / shape.flops()));
  std::vector<double> peaks;
  const double end = now(false) + seconds;
  while (peaks.size() < 5 || (now(false) < end && peaks.size() < 400)) {
    double start = now(true);
    const double done = peak<T>(4000);
    peaks.push_back(done / (now(true) - start) * threads);
    for (auto& c : contenders) {
      c.run();
      start = now(processor);
      for (int64_t r = 0; r < repeats; ++r) c.run();
      c.rates.push_back(shape.flops() * static_cast<double>(repeats) / (now(processor) - start));
    }
  }
  const double all = median(peaks);
  fmt::print("{:9} {}{} {:4} x {:4} x {:4} {:2} |{:9.1f} |", type, shape.ta ? 'T' : 'N', shape.tb ? 'T' : 'N', shape.m, shape.n, shape.k,
             threads, median(contenders[0].rates) * 1e-9);
  for (const auto& c : contenders) fmt::print(" {} {:.1f} %  ", c.name, 100 * median(c.rates) / all);
  fmt::print("\n");
  std::fflush(stdout);
}

template <class T>
void table(const char* type, const std::vector<int>& threads, bool quick) {
  std::vector<std::array<int64_t, 3>> shapes{{64, 64, 64}, {128, 128, 128}, {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}};
  if (!quick) shapes.push_back({2048, 2048, 2048});
  shapes.insert(shapes.end(), {{96, 64, 256}, {512, 768, 3072}, {4096, 64, 64}});
  for (const int count : threads) {
    mt::set_num_threads(count);
#ifdef BENCH_OPENBLAS
    openblas_set_num_threads(count);
#endif
    for (const auto& [m, n, k] : shapes)
      for (const auto& [ta, tb] : {std::pair{false, false}, {false, true}, {true, false}})
        measure<T>(type, {m, n, k, ta, tb}, count, quick ? 0.05 : 0.4);
  }
}

}  // namespace

int main(int count, char** arguments) {
  // OpenBLAS reads these while it is loaded; they would slow it down.
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr || std::getenv("OPENBLAS_L2_SIZE") != nullptr) {
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    execv("/proc/self/exe", arguments);
  }
  bool quick = false;
  std::vector<int> threads{1, 2};
  std::vector<std::string_view> types;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "quick")
      quick = true;
    else if (argument == "threads=1" || argument == "threads=2")
      threads = {argument.back() - '0'};
    else if (argument == "float32" || argument == "float64" || argument == "float16" || argument == "bfloat16")
      types.push_back(argument);
    else
      return fmt::print(stderr, "bench_gemm: unknown argument {}\n", argument), 2;
  }
  const auto wanted = [&](std::string_view type) { return types.empty() || std::find(types.begin(), types.end(), type) != types.end(); };

  const auto rate = [](double (*kernel)(int64_t)) {
    std::vector<double> rates;
    for (int i = 0; i < 9; ++i) {
      const double start = now(true), done = kernel(20000);
      rates.push_back(done / (now(true) - start) * 1e-9);
    }
    return median(rates);
  };
  fmt::print("path {}; peaks of one core, GFLOP/s: float64 {:.1f}, float32 {:.1f}, bfloat16 {:.1f}", isa_name(mt::kernels::isa()),
             rate(peak<double>), rate(peak<float>), rate(peak<mt::bfloat16>));
#if defined(__x86_64__)
  if (mt::kernels::isa() == mt::kernels::Isa::amx_bf16) fmt::print(", tiles {:.1f}", rate(bench::peak_flops_amx));
#endif
  fmt::print("\ntype     form   m x    n x    k threads | GFLOP/s |   % of the peak\n");
  if (wanted("float32")) table<float>("float32", threads, quick);
  if (wanted("float64")) table<double>("float64", threads, quick);
  if (wanted("float16")) table<mt::half>("float16", threads, quick);
  if (wanted("bfloat16")) table<mt::bfloat16>("bfloat16", threads, quick);
}
