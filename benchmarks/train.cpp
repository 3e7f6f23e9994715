// Training steps of GPTs d and e: forward, backward, clipping and AdamW, in float, bfloat16 and half, beside PyTorch if it is there.
// SPDX-License-Identifier: MIT
//
// Every contestant is a process of its own (train_torch.py, or this program again), whose growth is its own too. All start from the
// same parameters; their first losses are compared, then they take steps in turns: what else the machine does hits all alike.
// Run: bench_train [step=d|e] [threads=1|2] [rounds=N] [type=float|bfloat16|half] [cpu], from the project's directory.
// "cpu" reports processor time instead of time passed: for a machine that others use too.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <benchmarks/peak.hpp>
#include <minitorch/nn/gpt.hpp>
#include <minitorch/nn/module.hpp>
#include <minitorch/optim/adam.hpp>
#include <minitorch/optim/clip.hpp>

namespace mt = minitorch;

namespace {

using Clock = std::chrono::steady_clock;

struct Model {
  mt::nn::GPTConfig config;
  std::int64_t batch;
};

const std::map<std::string, Model> models{
    {"d", {{.vocabulary = 70, .context = 96, .layers = 2, .dim = 64, .heads = 4}, 16}},
    {"e", {{.vocabulary = 70, .context = 256, .layers = 6, .dim = 384, .heads = 6}, 4}},
};

constexpr int compared = 3;  // losses before the clock starts

double resident_mib() {
  ::rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Matrices get reproducible noise within 0.02 of zero; train_torch.py has the same.
template <class M>
void set_parameters(M& model) {
  const mt::NoGrad guard;
  int n = 0;
  mt::for_each_parameter(model, [&](const std::string&, const auto& parameter) {
    auto tensor = parameter;
    ++n;
    if (tensor.rank() < 2) return;  // biases zero, norms one
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      const double wave = std::sin(12.9898 * static_cast<double>(i + 1) + 78.233 * n) * 43758.5453;
      tensor.mutable_data()[i] = static_cast<float>(0.04 * (wave - std::floor(wave) - 0.5));
    }
  });
}

// Answers "step" by "ms loss", "flops" by the operations in products so far, anything else by its memory and ends.
template <mt::Scalar C>
void serve(const Model& m, int threads, bool cpu_time) {
  mt::set_num_threads(threads);
  const double before = resident_mib();
  mt::nn::GPT<float, C> model(m.config);
  set_parameters(model);
  mt::optim::AdamW<float> adam(model, {.lr = 1e-3});
  const auto parameters = adam.parameters();
  auto tokens = mt::Tensor<std::int64_t>::empty({m.batch, m.config.context}), targets = tokens.clone();
  const auto symbol = [&](std::int64_t i) { return (i * i * 7 + i / 3) % m.config.vocabulary; };
  for (std::int64_t i = 0; i < tokens.numel(); ++i) {
    tokens.mutable_data()[i] = symbol(i);
    targets.mutable_data()[i] = symbol(i + 1);
  }
  const auto now = [&] {
    if (cpu_time) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  };
  char line[64];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    if (line == std::string("step\n")) {
      const double start = now();
      adam.zero_grad();
      const auto loss = mt::nn::gpt_loss(model, tokens, targets);
      loss.backward();
      mt::optim::clip_grad_norm_(parameters, 1.0);
      adam.step();
      fmt::print("{} {}\n", 1e3 * (now() - start), loss.item());
    } else if (line == std::string("flops\n")) {
      fmt::print("{} 0\n", mt::autograd_state.product_flops);
    } else {
      fmt::print("{} {}\n", resident_mib(), resident_mib() - before);
    }
    std::fflush(stdout);
  }
}

// One contestant: a child that answers lines by pairs of numbers.
class Contestant {
 public:
  std::string name, type;
  std::vector<double> times = {}, losses = {};
  double flops = 0;

  Contestant(std::string who, std::string scalar, const std::string& command) : name(std::move(who)), type(std::move(scalar)) {
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) std::abort();  // siblings must not hold them open
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(to[0], 0);
      ::dup2(from[1], 1);
      ::execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), static_cast<char*>(nullptr));
      std::_Exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = ::fdopen(to[1], "w");
    from_ = ::fdopen(from[0], "r");
  }
  Contestant(Contestant&& other) noexcept
      : name(std::move(other.name)),
        type(std::move(other.type)),
        times(std::move(other.times)),
        losses(std::move(other.losses)),
        flops(other.flops),
        child_(other.child_),
        to_(std::exchange(other.to_, nullptr)),
        from_(std::exchange(other.from_, nullptr)) {}
  Contestant& operator=(Contestant&&) = delete;
  ~Contestant() {
    if (to_ == nullptr) return;
    std::fclose(to_);
    std::fclose(from_);
    ::waitpid(child_, nullptr, 0);
  }

  std::pair<double, double> ask(const char* what) const {
    std::pair<double, double> answer;
    std::fprintf(to_, "%s\n", what);
    std::fflush(to_);
    if (std::fscanf(from_, "%lf %lf", &answer.first, &answer.second) != 2) {
      fmt::print("{} {}: no answer\n", name, type);
      std::exit(1);
    }
    return answer;
  }
  double median() {
    std::ranges::sort(times);
    return times[times.size() / 2];
  }

 private:
  int child_;
  std::FILE *to_, *from_;
};

// Billions of operations a second that one thread can do at most.
double peak(bool narrow) {
  double best = 0;
  for (int trial = 0; trial < 20; ++trial) {
    const auto start = Clock::now();
    double flops = 0;
#if defined(__x86_64__)
    if (narrow && mt::kernels::isa() == mt::kernels::Isa::amx_bf16) flops = bench::peak_flops_amx(50'000);
    if (narrow && mt::kernels::isa() == mt::kernels::Isa::avx512_bf16)
      flops = bench::peak_flops<mt::kernels::detail::Bf16Arithmetic>(200'000);
#endif
    if (flops == 0) flops = bench::peak_flops<mt::kernels::detail::FloatArithmetic>(200'000);
    best = (std::max)(best, flops / std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best / 1e9;
}

// A python with PyTorch in it, or "".
std::string python_with_torch() {
  for (const char* python : {"python3", "/usr/bin/python3"})
    if (std::system(fmt::format("{} -c 'import torch' 2>/dev/null", python).c_str()) == 0) return python;
  return "";
}

struct Options {
  std::string step, type;
  int threads = 0, rounds = 11;
  bool cpu = false;
};

// Whether all computed the same: float to five digits, the others near it.
bool agree(const std::vector<Contestant>& all) {
  bool good = true;
  for (const Contestant& one : all)
    for (std::size_t i = 0; i < one.losses.size(); ++i) {
      const double reference = all.back().losses[i], error = std::abs(one.losses[i] / reference - 1);
      if (error < (one.type == "float" && all.back().type == "float" ? 1e-5 : 2e-2)) continue;
      fmt::print("{} {}: loss {} is {:.7f} instead of {:.7f}\n", one.name, one.type, i, one.losses[i], reference);
      good = false;
    }
  return good;
}

void compete(const std::string& step, int threads, const std::string& self, const std::string& python, const Options& options) {
  // The reference comes last: PyTorch in float, if it is there.
  std::vector<Contestant> all;
  const std::string setting = fmt::format("{} {} {}", step, threads, options.cpu ? "cpu" : "time");
  for (const char* type : {"half", "bfloat16", "float"})
    if (options.type.empty() || options.type == type)
      all.emplace_back("minitorch", type, fmt::format("{} serve {} {}", self, type, setting));
  if (!python.empty()) {
    const char* tuned =
        "env MALLOC_MMAP_THRESHOLD_=4000000000 MALLOC_TRIM_THRESHOLD_=20000000000 MALLOC_TOP_PAD_=268435456 OMP_WAIT_POLICY=passive ";
    for (const char* type : {"bfloat16", "float"}) {
      if (!options.type.empty() && options.type != type) continue;
      const std::string command = fmt::format("{} benchmarks/train_torch.py {} {}", python, type, setting);
      all.emplace_back("PyTorch", type, command);
      all.emplace_back("PyTorch, tuned", type, tuned + command);
    }
  }
  for (Contestant& one : all)
    for (int i = 0; i < compared; ++i) one.losses.push_back(one.ask("step").second);
  if (!agree(all)) std::exit(1);
  for (Contestant& one : all)
    if (one.name == "minitorch") one.flops = -one.ask("flops").first;
  for (int round = 0; round < options.rounds; ++round)
    for (Contestant& one : all) {
      ::usleep(5000);  // until the threads of the one before have gone to sleep
      one.times.push_back(one.ask("step").first);
    }
  for (Contestant& one : all) {
    if (one.name == "minitorch") one.flops = (one.flops + one.ask("flops").first) / options.rounds;
    const auto [resident, growth] = one.ask("memory");
    const double ms = one.median();
    fmt::print("{:4} {:7} {:14} {:8} {:9.2f} {:9.2f} {:10.0f} {:8.0f} {:8.0f}", step, threads, one.name, one.type, ms, one.times.front(),
               static_cast<double>(models.at(step).batch * models.at(step).config.context) / ms * 1e3, resident, growth);
    if (one.flops > 0) {
      const double rate = one.flops / ms / 1e6;
      fmt::print("   {:.0f} GFLOP/s in products, {:.0f} % of the peak", rate, 100 * rate / (peak(one.type == "bfloat16") * threads));
    }
    fmt::print("\n");
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 5 && arguments[0] == "serve") {
    const Model& model = models.at(arguments[2]);
    const int threads = std::atoi(arguments[3].c_str());
    const bool cpu = arguments[4] == "cpu";
    if (arguments[1] == "float") serve<float>(model, threads, cpu);
    if (arguments[1] == "bfloat16") serve<mt::bfloat16>(model, threads, cpu);
    if (arguments[1] == "half") serve<mt::half>(model, threads, cpu);
    return 0;
  }
  Options options;
  for (const std::string& argument : arguments) {
    const std::string value = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("step=")) options.step = value;
    if (argument.starts_with("type=")) options.type = value;
    if (argument.starts_with("threads=")) options.threads = std::atoi(value.c_str());
    if (argument.starts_with("rounds=")) options.rounds = (std::max)(1, std::atoi(value.c_str()));
    if (argument == "cpu") options.cpu = true;
  }
  const std::string python = python_with_torch();
  if (python.empty()) fmt::print("torch: not installed\n");
  fmt::print("{:4} {:7} {:14} {:8} {:>9} {:>9} {:>10} {:>8} {:>8}\n", "step", "threads", "", "type", options.cpu ? "cpu ms" : "ms", "least",
             "tokens/s", "MiB", "grown");
  for (const auto& [step, model] : models)
    for (int threads : {1, 2})
      if ((options.step.empty() || options.step == step) && (options.threads == 0 || options.threads == threads) &&
          threads <= mt::num_threads())
        compete(step, threads, fmt::format("'{}'", argv[0]), python, options);
}
