// What including the library costs a compiler: seconds and memory beside Eigen/Core and, where installed, libtorch.
// SPDX-License-Identifier: MIT
// Run: scripts/bench compile_time [REPEATS]. Each file is compiled at -O2 with the compiler of this build; medians.
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

struct Cost {
  double processor = 0, clock = 0, mebibytes = 0;
};

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); }

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Runs the command without a shell; exits when it fails.
Cost run(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const double start = now();
  const pid_t child = fork();
  if (child == 0) {
    execvp(arguments[0], arguments.data());
    std::_Exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (status != 0) {
    fmt::print(stderr, "compile_time: the compiler failed\n");
    std::exit(1);
  }
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), now() - start, static_cast<double>(usage.ru_maxrss) / 1024};
}

template <class Member>
double median(std::vector<Cost> costs, Member member) {
  std::ranges::sort(costs, {}, member);
  return costs[costs.size() / 2].*member;
}

const char* const mlp = R"(
#include <minitorch/minitorch.hpp>
namespace mt = minitorch;
int main() {
  mt::nn::MLP<float> model(2, 16, 1);
  mt::optim::SGD<float> sgd(model, {.lr = 0.1});
  const auto x = mt::ones<float>({8, 2}), y = mt::zeros<float>({8, 1});
  for (int step = 0; step < 100; ++step) {
    const auto loss = mt::mse_loss(model(x), y);
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
}
)";

const char* const torch_mlp = R"(
#include <torch/torch.h>
int main() {
  torch::nn::Sequential model(torch::nn::Linear(2, 16), torch::nn::ReLU(), torch::nn::Linear(16, 1));
  torch::optim::SGD sgd(model->parameters(), 0.1);
  const auto x = torch::ones({8, 2}), y = torch::zeros({8, 1});
  for (int step = 0; step < 100; ++step) {
    const auto loss = torch::mse_loss(model->forward(x), y);
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
}
)";

}  // namespace

int main(int argc, char** argv) {
  const int repeats = argc > 1 ? (std::max)(1, std::atoi(argv[1])) : 5;
  const std::string torch = "/usr/include/torch/csrc/api/include";
  const std::string folder = std::filesystem::temp_directory_path().string() + "/minitorch_compile_time." + std::to_string(getpid());
  std::filesystem::create_directory(folder);

  struct Case {
    const char *name, *source;
  };
  std::vector<Case> cases = {{"Eigen/Core, included", "#include <Eigen/Core>\nint main() {}\n"},
                             {"minitorch.hpp, included", "#include <minitorch/minitorch.hpp>\nint main() {}\n"},
                             {"an MLP trained with minitorch", mlp}};
  const std::string with_compiled = std::string("#include <minitorch/compiled.hpp>\n") + mlp;
  cases.push_back({"the same for minitorch::compiled", with_compiled.c_str()});
  if (std::filesystem::exists(torch)) cases.push_back({"the same trained with libtorch", torch_mlp});

  double reference = 0;
  fmt::print("{:<34} {:>10} {:>8} {:>8} {:>6}\n", "one file at -O2", "processor", "clock", "MiB", "ratio");
  for (const Case& each : cases) {
    const std::string file = folder + "/source.cpp";
    std::ofstream(file) << each.source;
    std::vector<Cost> costs;
    for (int r = 0; r < repeats; ++r)
      costs.push_back(run({BENCH_COMPILER, "-std=c++20", "-O2", "-c", "-I" MINITORCH_INCLUDE, "-I" EIGEN_INCLUDE, "-I" + torch, file, "-o",
                           folder + "/object.o"}));
    const double processor = median(costs, &Cost::processor);
    if (reference == 0) reference = processor;
    fmt::print("{:<34} {:>8.2f} s {:>6.2f} s {:>8.0f} {:>6.2f}\n", each.name, processor, median(costs, &Cost::clock),
               median(costs, &Cost::mebibytes), processor / reference);
    std::fflush(stdout);
  }
  std::filesystem::remove_all(folder);
}
