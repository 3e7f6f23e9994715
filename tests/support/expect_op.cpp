// The checks of expect_op.
// SPDX-License-Identifier: MIT
#include <tests/support/expect_op.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tests {

namespace {

template <class T>
Tensors<T> leaves(const Tensors<double>& inputs, unsigned differentiable) {
  Tensors<T> out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    out.push_back(inputs[i].detach().clone().template to<T>());
    if ((differentiable >> i & 1U) != 0) out.back().set_requires_grad();
  }
  return out;
}

template <class T>
struct Run {
  mt::Tensor<double> value;
  Tensors<double> gradients;  // undefined for inputs that are not differentiated
};

// Value and gradients with a seed that is different everywhere, as doubles.
template <class T, class F>
Run<T> run(const F& f, const Tensors<T>& inputs, bool create_graph = false) {
  const mt::Tensor<T> out = f(inputs);
  Run<T> result{out.detach().template to<double>(), {}};
  if (out.requires_grad()) out.backward(mt::detail::probe_seed(out.shape()).template to<T>(), {.create_graph = create_graph});
  for (const auto& input : inputs) {
    const auto gradient = input.grad();
    result.gradients.push_back(gradient.defined() ? gradient.detach().template to<double>() : mt::Tensor<double>{});
    mt::Tensor<T>(input).zero_grad();  // create_graph leaves a cycle
  }
  return result;
}

void check_bits(const mt::Tensor<double>& got, const mt::Tensor<double>& right) {
  REQUIRE(got.shape() == right.shape());
  CHECK(std::memcmp(got.data(), right.data(), static_cast<std::size_t>(got.numel()) * sizeof(double)) == 0);
}

double largest(const mt::Tensor<double>& x) {
  double most = 0;
  for (double v : x.values())
    if (std::isfinite(v)) most = (std::max)(most, std::abs(v));
  return most;
}

void check_within(const mt::Tensor<double>& got, const mt::Tensor<double>& right, double bound) {
  REQUIRE(got.shape() == right.shape());
  for (std::int64_t i = 0; i < got.numel(); ++i) {
    INFO("element " << i << ": " << got.data()[i] << ", right is " << right.data()[i] << " within " << bound);
    if (!(std::isnan(got.data()[i]) && std::isnan(right.data()[i])) && got.data()[i] != right.data()[i])
      CHECK(std::abs(got.data()[i] - right.data()[i]) <= bound);
  }
}

// The same operation in a narrower type differs by rounding alone.
template <class T, class F>
void check_scalar(const F& f, const AnyOp& op, const Tensors<double>& inputs, double epsilon, const Expectations& expect) {
  INFO("in " << mt::dtype_name(mt::dtype_of<T>));
  const unsigned all = (1U << inputs.size()) - 1;
  const Tensors<T> low = leaves<T>(inputs, all);
  Tensors<double> high;
  for (const auto& x : low) high.push_back(x.detach().template to<double>().set_requires_grad());
  const Run<T> got = run(f, low);
  const Run<double> right = run(op.f64, high);
  check_within(got.value, right.value, expect.narrow * epsilon * largest(right.value));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    INFO("gradient of input " << i);
    if (right.gradients[i].defined())
      check_within(got.gradients[i], right.gradients[i], 2 * expect.narrow * epsilon * largest(right.gradients[i]));
  }
}

void check_value_and_gradient(const AnyOp& op, const Reference& reference, const Tensors<double>& inputs, const Expectations& expect) {
  const unsigned all = (1U << inputs.size()) - 1;
  const Tensors<double> x = leaves<double>(inputs, all);
  const mt::Tensor<double> right = reference(inputs);
  check_close(op.f64(x).detach(), right, expect.tolerance);
  mt::gradcheck(op.f64, x);

  const Run<double> whole = run(op.f64, x), recorded = run(op.f64, x, true);
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO("recorded gradient of input " << i);
    REQUIRE(whole.gradients[i].defined() == recorded.gradients[i].defined());
    if (whole.gradients[i].defined()) check_within(recorded.gradients[i], whole.gradients[i], 1e-11 * (1 + largest(whole.gradients[i])));
  }
  for (unsigned some = 1; some < all; ++some) {
    INFO("differentiable inputs: " << some);
    const Run<double> part = run(op.f64, leaves<double>(inputs, some));
    for (std::size_t i = 0; i < x.size(); ++i)
      if ((some >> i & 1U) != 0 && whole.gradients[i].defined()) check_bits(part.gradients[i], whole.gradients[i]);
  }
}

template <class F>
mt::Tensor<double> checkpointed(const F& f, const Tensors<double>& x) {
  switch (x.size()) {
    case 1: return mt::checkpoint([&f](const auto& a) { return f({a}); }, x[0]);
    case 2: return mt::checkpoint([&f](const auto& a, const auto& b) { return f({a, b}); }, x[0], x[1]);
    case 3: return mt::checkpoint([&f](const auto& a, const auto& b, const auto& c) { return f({a, b, c}); }, x[0], x[1], x[2]);
    default: FAIL("expect_op takes one, two or three tensors"); return {};
  }
}

// Each input in turn: one row for all, a vector, a single number.
void check_broadcasting(const AnyOp& op, const Reference& reference, const Tensors<double>& inputs, const Expectations& expect) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].rank() < 2 || inputs[i].shape()[0] < 2) continue;
    const mt::Tensor<double> row = inputs[i].slice(0, 1);
    for (const mt::Tensor<double>& small : {row, inputs[i][0], mt::from_values<double>(row.values().first(1), {})}) {
      INFO("input " << i << " of shape " << mt::concat(small.shape()));
      Tensors<double> mixed = inputs;
      mixed[i] = small;
      check_value_and_gradient(op, reference, mixed, expect);
    }
  }
}

void check_empty(const AnyOp& op, std::size_t count) {
  INFO("empty tensors");
  const Tensors<double> none(count, mt::zeros<double>({0, 3}));
  const Run<double> got = run(op.f64, leaves<double>(none, (1U << count) - 1));
  CHECK(got.value.shape() == mt::Shape{0, 3});
  for (const auto& gradient : got.gradients)
    if (gradient.defined()) CHECK(gradient.shape() == mt::Shape{0, 3});
}

}  // namespace

void check_close(const mt::Tensor<double>& got, const mt::Tensor<double>& right, double tolerance) {
  if (tolerance == 0) return check_bits(got, right);
  REQUIRE(got.shape() == right.shape());
  for (std::int64_t i = 0; i < got.numel(); ++i) {
    const double a = got.data()[i], b = right.data()[i];
    INFO("element " << i << ": " << a << ", right is " << b);
    if (!(std::isnan(a) && std::isnan(b)) && a != b) CHECK(std::abs(a - b) <= tolerance * std::abs(b));
  }
}

ValueAndSlope at(const std::function<mt::Tensor<double>(const mt::Tensor<double>&)>& f, double x) {
  auto in = mt::scalar<double>(x);
  in.set_requires_grad();
  const mt::Tensor<double> y = f(in);
  y.backward();
  return {y.item(), in.grad().item()};
}

mt::Tensor<double> apply_elementwise(const std::function<double(const std::vector<double>&)>& f, const Tensors<double>& inputs) {
  mt::Shape shape = inputs.front().shape();
  for (const auto& input : inputs) shape = mt::broadcast_shapes(shape, input.shape(), "reference");
  mt::Tensor<double> out = mt::zeros<double>(shape);
  Tensors<double> whole;
  for (const auto& input : inputs) whole.push_back(mt::expand(input.detach(), shape));
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    std::vector<double> at;
    for (const auto& input : whole) at.push_back(input.data()[i]);
    out.mutable_data()[i] = f(at);
  }
  return out;
}

mt::Tensor<double> spread(const mt::Shape& shape, double low, double high, int seed) {
  mt::Tensor<double> out = mt::zeros<double>(shape);
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const double t = 0.6180339887498949 * static_cast<double>(i + 1) + 0.7548776662466927 * seed;
    out.mutable_data()[i] = low + (high - low) * (t - std::floor(t));
  }
  return out;
}

void check_op(const AnyOp& op, const Reference& reference, const Tensors<double>& inputs, const Expectations& expect) {
  const unsigned all = (1U << inputs.size()) - 1;
  check_value_and_gradient(op, reference, inputs, expect);
  const Tensors<double> x = leaves<double>(inputs, all);
  if (expect.second_order) mt::gradgradcheck(op.f64, x);

  if (inputs.size() > 1 && expect.same_twice) {
    INFO("the same tensor twice");
    const bool equal = std::ranges::all_of(inputs, [&](const auto& input) { return input.shape() == inputs[0].shape(); });
    const auto twice = [&](const Tensors<double>& one) { return op.f64(Tensors<double>(inputs.size(), one[0])); };
    if (equal) mt::gradcheck(twice, {x[0]});
  }
  if (expect.elementwise) {
    if (inputs.size() > 1) check_broadcasting(op, reference, inputs, expect);
    check_empty(op, inputs.size());
  }
  check_scalar<float>(op.f32, op, inputs, std::numeric_limits<float>::epsilon(), expect);
  check_scalar<mt::half>(op.f16, op, inputs, 0x1p-10, expect);
  check_scalar<mt::bfloat16>(op.bf16, op, inputs, 0x1p-7, expect);

  {
    INFO("checkpoint");
    const Run<double> plain = run(op.f64, x);
    const Run<double> again = run([&](const Tensors<double>& in) { return checkpointed(op.f64, in); }, x);
    check_bits(again.value, plain.value);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (plain.gradients[i].defined()) check_bits(again.gradients[i], plain.gradients[i]);
  }
  if (expect.saved >= 0) {
    const mt::SavedMeter meter;
    const auto out = op.f64(x);
    CHECK(meter.entries().size() == static_cast<std::size_t>(expect.saved));
  }
}

}  // namespace tests
