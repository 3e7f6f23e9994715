// What the graph costs: a chain of additions of one number, per node: built and freed, and differentiated.
// SPDX-License-Identifier: MIT
// peers: torch
// Run: bench_autograd [repetitions]. Fastest and median of the repetitions.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include <fmt/core.h>

#include <minitorch/autograd/autograd.hpp>

#ifdef BENCH_TORCH
#include <torch/torch.h>
#endif

namespace mt = minitorch;

namespace {

constexpr int length = 1000;

double now() { return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// make() is a leaf, add(a, b) the operation, backward(y) the pass, gradient(leaf) what must have arrived: length + 1 a pass.
template <class Make, class Add, class Backward, class Gradient>
void measure(const char* name, int repetitions, Make make, Add add, Backward backward, Gradient gradient) {
  const auto b = make();
  std::vector<double> forward, back;
  for (int r = 0; r < repetitions; ++r) {
    const double start = now();
    {
      auto y = b;
      for (int i = 0; i < length; ++i) y = add(y, b);
    }
    forward.push_back((now() - start) / length);
    auto y = b;
    for (int i = 0; i < length; ++i) y = add(y, b);
    const double middle = now();
    backward(y);
    back.push_back((now() - middle) / length);
  }
  if (gradient(b) != static_cast<float>(repetitions) * (length + 1)) {
    fmt::print("{}: the gradient is wrong: {}\n", name, gradient(b));
    std::exit(1);
  }
  std::ranges::sort(forward);
  std::ranges::sort(back);
  fmt::print("{:10} one add with a node, built and freed {:7.1f} ns (median {:7.1f}); its backward {:7.1f} ns (median {:7.1f})\n", name,
             forward.front(), forward[forward.size() / 2], back.front(), back[back.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 2000;
  measure(
      "minitorch", repetitions,
      [] {
        auto b = mt::scalar<float>(1);
        return b.set_requires_grad();
      },
      [](const auto& x, const auto& y) { return mt::add(x, y); }, [](const auto& y) { y.backward(); },
      [](const auto& b) { return b.grad().item(); });
#ifdef BENCH_TORCH
  measure(
      "libtorch", std::max(repetitions / 50, 1), [] { return torch::ones({}, torch::requires_grad()); },
      [](const torch::Tensor& x, const torch::Tensor& y) { return x + y; }, [](const torch::Tensor& y) { y.backward(); },
      [](const torch::Tensor& b) { return b.grad().item<float>(); });
#endif
}
