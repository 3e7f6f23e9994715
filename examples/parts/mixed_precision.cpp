// What 16 bits keep of a number, and a layer that computes in bfloat16 while its parameters stay float.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <examples/parts/mixed_precision.hpp>
#include <minitorch/minitorch.hpp>

namespace examples {

namespace mt = minitorch;

const support::Part mixed_precision_part{"mixed_precision",
                                         "Precision: what a type keeps, and who has which type",
                                         {{"float_1_001", "1.001 as float"},
                                          {"half_1_001", "1.001 as half"},
                                          {"half_1_001_bits", "its bits"},
                                          {"bfloat16_1_001", "1.001 as bfloat16"},
                                          {"bfloat16_1_001_bits", "its bits"},
                                          {"float_70000", "70000 as float"},
                                          {"half_70000", "70000 as half"},
                                          {"half_70000_bits", "its bits"},
                                          {"bfloat16_70000", "70000 as bfloat16"},
                                          {"bfloat16_70000_bits", "its bits"},
                                          {"float_1e_8", "1e-8 as float"},
                                          {"half_1e_8", "1e-8 as half"},
                                          {"half_1e_8_bits", "its bits"},
                                          {"bfloat16_1e_8", "1e-8 as bfloat16"},
                                          {"bfloat16_1e_8_bits", "its bits"},
                                          {"output_type", "Linear<float>(8, 4) of a bfloat16 input: its output"},
                                          {"weight_type", "its weight"},
                                          {"weight_gradient_type", "its weight's gradient"},
                                          {"input_gradient_type", "its input's gradient, summed in float"},
                                          {"gradients_finite", "all gradients are finite"},
                                          {"relative_error", "largest error of the output, relative to float"},
                                          {"autocast_type", "as<bfloat16>(linear) of a float input: its output"}}};

template <class T>
std::string bits(T value) {
  return fmt::format("{:#06x}", Eigen::numext::bit_cast<std::uint16_t>(value));
}

template <class T>
std::string type_of(const mt::Tensor<T>&) {
  return std::string(mt::dtype_name(mt::dtype_of<T>));
}

template <class T>
bool all_finite(const mt::Tensor<T>& x) {
  for (T value : x.values())
    if (!std::isfinite(static_cast<float>(value))) return false;
  return true;
}

// One number through the three types: value and bits beside what IEEE 754 rounding gives.
void show_number(support::Report& report, const std::string& name, float number, double as_half, const char* half_bits, double as_bf16,
                 const char* bf16_bits) {
  const auto x = mt::tensor<float>({number});
  const mt::half h = x.to<mt::half>().item();
  const mt::bfloat16 b = x.to<mt::bfloat16>().item();
  report.check("float_" + name, double{x.item()}, double{number});
  report.check("half_" + name, double{static_cast<float>(h)}, as_half);
  report.check("half_" + name + "_bits", bits(h), half_bits);
  report.check("bfloat16_" + name, double{static_cast<float>(b)}, as_bf16);
  report.check("bfloat16_" + name + "_bits", bits(b), bf16_bits);
}

void mixed_precision(support::Report& report) {
  report.begin(mixed_precision_part);
  show_number(report, "1_001", 1.001f, 1.0009765625, "0x3c01", 1, "0x3f80");
  show_number(report, "70000", 70000.0f, HUGE_VAL, "0x7c00", 70144, "0x4789");
  show_number(report, "1e_8", 1e-8f, 0, "0x0000", 1.0011717677116394e-08, "0x322c");

  mt::manual_seed(4);
  mt::nn::Linear<float> linear(8, 4);
  const auto batch = mt::nn::parameter<float>({16, 8}, mt::nn::Init::normal(0, 1)).detach();
  auto x = batch.to<mt::bfloat16>();
  x.set_requires_grad();

  const auto y = linear(x);
  mt::mean(mt::square(y)).backward();
  static_assert(std::same_as<decltype(y), const mt::Tensor<mt::bfloat16>>);
  static_assert(std::same_as<decltype(linear.weight), mt::Tensor<float>>);
  static_assert(std::same_as<decltype(linear.weight.grad()), mt::Tensor<float>>);
  report.check("output_type", type_of(y), "bfloat16");
  report.check("weight_type", type_of(linear.weight), "float32");
  report.check("weight_gradient_type", type_of(linear.weight.grad()), "float32");
  report.check("input_gradient_type", type_of(x.grad()), "float32");
  report.check("gradients_finite", all_finite(linear.weight.grad()) && all_finite(linear.bias.grad()) && all_finite(x.grad()));

  const auto exact = mt::no_grad([&] { return linear(batch); });
  double error = 0, largest = 0;
  for (std::int64_t i = 0; i < exact.numel(); ++i) {
    error = std::max(error, std::abs(double{exact.data()[i]} - double{static_cast<float>(y.data()[i])}));
    largest = std::max(largest, std::abs(double{exact.data()[i]}));
  }
  report.at_most("relative_error", error / largest, 0x1p-7);

  const auto automatic = mt::nn::as<mt::bfloat16>(linear)(batch);
  static_assert(std::same_as<decltype(automatic), const mt::Tensor<mt::bfloat16>>);
  report.check("autocast_type", type_of(automatic), "bfloat16");
  report.say("The types are part of the program: static_assert checked them before it ran.");
}

}  // namespace examples
