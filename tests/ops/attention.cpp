// attention: by expect_op against its definition; causal masks of both alignments, masked rows, grouped heads, layouts.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include <minitorch/ops/attention.hpp>
#include <minitorch/ops/operators.hpp>
#include <tests/support/expect_op.hpp>

namespace mt = minitorch;
using mt::AttentionOptions;
using mt::tensor;
using mt::Tensor;
using tests::check_close;
using tests::spread;

namespace {

const auto q3 = tensor<double>({{1, 0}, {0, 1}, {1, 1}});
const auto k3 = tensor<double>({{1, 2}, {.5, -1}, {0, 1}});
const auto v3 = tensor<double>({{1, 0}, {0, 1}, {2, 2}});

// One head by loops: which keys a query sees is for `sees` to say.
template <class Sees>
Tensor<double> one_head(const Tensor<double>& q, const Tensor<double>& k, const Tensor<double>& v, Sees sees) {
  const std::int64_t queries = q.shape()[0], keys = k.shape()[0], width = q.shape()[1], out_width = v.shape()[1];
  Tensor<double> out = mt::zeros<double>({queries, out_width});
  for (std::int64_t i = 0; i < queries; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < width; ++d) score += q.data()[i * width + d] * k.data()[j * width + d];
      const double e = sees(i, j) ? std::exp(score / std::sqrt(static_cast<double>(width))) : 0;
      sum += e;
      for (std::int64_t d = 0; d < out_width; ++d) out.mutable_data()[i * out_width + d] += e * v.data()[j * out_width + d];
    }
    for (std::int64_t d = 0; d < out_width && sum > 0; ++d) out.mutable_data()[i * out_width + d] /= sum;
  }
  return out;
}

const auto all_keys = [](std::int64_t, std::int64_t) { return true; };
const auto earlier_keys = [](std::int64_t i, std::int64_t j) { return j <= i; };

}  // namespace

TEST_CASE("attention") {
  const auto plain = [](const auto& q, const auto& k, const auto& v) { return mt::attention(q, k, v); };
  tests::expect_op(
      {.tolerance = 1e-12, .narrow = 8, .saved = 5}, plain,
      [](const Tensor<double>& q, const Tensor<double>& k, const Tensor<double>& v) { return one_head(q, k, v, all_keys); }, spread({5, 4}),
      spread({5, 4}, -1, 1, 2), spread({5, 4}, -1, 1, 3));
  const auto causal = [](const auto& q, const auto& k, const auto& v) { return mt::attention(q, k, v, {.causal = true}); };
  tests::expect_op(
      {.tolerance = 1e-12, .narrow = 8}, causal,
      [](const Tensor<double>& q, const Tensor<double>& k, const Tensor<double>& v) { return one_head(q, k, v, earlier_keys); },
      spread({4, 3}), spread({6, 3}, -1, 1, 2), spread({6, 2}, -1, 1, 3));
}

TEST_CASE("groups of query heads share a kv head, in both layouts") {
  const auto q = spread({2, 4, 3, 5}), k = spread({2, 2, 6, 5}, -1, 1, 2), v = spread({2, 2, 6, 5}, -1, 1, 3);
  const auto by_head = [&](const AttentionOptions& options) {
    Tensor<double> out = mt::zeros<double>({2, 4, 3, 5});
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t h = 0; h < 4; ++h) {
        const auto y = mt::attention(q[b][h], k[b][h / 2], v[b][h / 2], options);
        std::copy_n(y.data(), y.numel(), out.mutable_data() + (b * 4 + h) * y.numel());
      }
    return out;
  };
  check_close(mt::attention(q, k, v), by_head({}), 0);
  const auto rows = [](const auto& x) { return mt::transposed(x, 1, 2); };
  const auto beside = mt::attention(rows(q), rows(k), rows(v), {.layout = mt::HeadLayout::rows_first});
  check_close(rows(beside), by_head({}), 0);

  Tensor<double> leaves[] = {q.clone(), k.clone(), v.clone()};
  for (auto& leaf : leaves) leaf.set_requires_grad();
  const std::vector<Tensor<double>> inputs(leaves, leaves + 3);
  const auto f = [&](const std::vector<Tensor<double>>& x) {
    return rows(mt::attention(rows(x[0]), rows(x[1]), rows(x[2]), {.causal = true, .layout = mt::HeadLayout::rows_first}));
  };
  mt::gradcheck(f, inputs);
}

TEST_CASE("second derivatives with grouped heads, a mask and rows first") {
  const auto mask = tensor<bool>({{true, false, true}, {true, true, false}});
  std::vector<Tensor<double>> inputs{spread({1, 2, 2, 2}), spread({1, 3, 1, 2}, -1, 1, 2), spread({1, 3, 1, 2}, -1, 1, 3)};
  for (auto& input : inputs) input.set_requires_grad();
  const auto f = [&](const std::vector<Tensor<double>>& x) {
    return mt::attention(x[0], x[1], x[2], {.layout = mt::HeadLayout::rows_first}, mask);
  };
  mt::gradcheck(f, inputs);
  mt::gradgradcheck(f, inputs);
}

TEST_CASE("AT01 three queries, all keys") {
  check_close(mt::attention(q3, k3, v3), tensor<double>({{0.9047401777683999, 0.7690788531360012},
                                                         {1.231375619722955, 0.6857101327939684},
                                                         {1.1197500730133627, 0.4297530572197677}}));
}

TEST_CASE("AT02 AT03 causal, and its gradients") {
  auto q = q3.clone(), k = k3.clone(), v = v3.clone();
  q.set_requires_grad(), k.set_requires_grad(), v.set_requires_grad();
  const auto y = mt::attention(q, k, v, {.causal = true});
  check_close(y.detach(), tensor<double>({{1, 0}, {0.8929581985348296, 0.10704180146517044}, {1.1197500730133627, 0.4297530572197677}}));
  y.backward(tensor<double>({{1, 2}, {3, 4}, {5, 6}}));
  const auto near = [](const Tensor<double>& got, const Tensor<double>& right) {
    for (std::int64_t i = 0; i < 6; ++i) CHECK(got.data()[i] == Approx(right.data()[i]).epsilon(1e-12).margin(1e-15));
  };
  near(q.grad(), tensor<double>({{0, 0}, {-0.03379399573988976, -0.2027639744393387}, {-1.7414904543850187, -1.4974020783192266}}));
  near(k.grad(), tensor<double>({{-1.6926727791718603, -1.7602607706516398},
                                 {-0.09763535042631687, -0.03004735894653729},
                                 {1.7903081295981773, 1.7903081295981773}}));
  near(v.grad(),
       tensor<double>(
           {{7.4459478598942015, 10.092320711286973}, {0.6382135897172485, 0.8086730282467665}, {0.9158385503885507, 1.0990062604662607}}));
}

TEST_CASE("AT04 fewer queries than keys: both alignments of the causal mask") {
  const auto q = q3.slice(0, 2);
  check_close(mt::attention(q, k3, v3, {.causal = true}), tensor<double>({{1, 0}, {0.8929581985348296, 0.10704180146517044}}));
  check_close(mt::attention(q, k3, v3, {.causal = true, .alignment = mt::CausalAlignment::bottom_right}),
              tensor<double>({{0.5874790008396098, 0.41252099916039026}, {1.231375619722955, 0.6857101327939684}}));
}

TEST_CASE("AT06 one query and one key give v exactly") {
  check_close(mt::attention(q3.slice(0, 1), k3.slice(1, 2), v3.slice(2, 3)), v3.slice(2, 3).detach(), 0);
}

TEST_CASE("AT07 AT08 a row without keys is zero, and what is hidden does not leak") {
  auto q = q3.clone(), k = k3.clone(), v = v3.clone();
  k.mutable_data()[2] = std::numeric_limits<double>::quiet_NaN();  // key 1, which nobody sees
  v.mutable_data()[3] = std::numeric_limits<double>::infinity();
  q.set_requires_grad(), k.set_requires_grad(), v.set_requires_grad();
  const auto mask = tensor<bool>({{true, false, true}, {false, false, false}, {false, false, true}});
  const auto y = mt::attention(q, k, v, {}, mask);
  CHECK(y.data()[2] == 0);
  CHECK(y.data()[3] == 0);
  CHECK(y.data()[4] == 2);
  for (double value : y.values()) CHECK(std::isfinite(value));
  y.backward(mt::ones<double>({3, 2}));
  for (const auto& gradient : {q.grad(), k.grad(), v.grad()})
    for (double value : gradient.values()) CHECK(std::isfinite(value));
  CHECK(q.grad().data()[2] == 0);
  CHECK(v.grad().data()[2] == 0);
}

TEST_CASE("AT10 many blocks equal the definition") {
  const auto q = spread({300, 16}), k = spread({600, 16}, -1, 1, 2), v = spread({600, 16}, -1, 1, 3);
  const auto right = one_head(q, k, v, [](std::int64_t i, std::int64_t j) { return j <= i + 300; });
  const auto got =
      mt::attention(q.to<float>(), k.to<float>(), v.to<float>(), {.causal = true, .alignment = mt::CausalAlignment::bottom_right});
  for (std::int64_t i = 0; i < right.numel(); ++i) CHECK(std::abs(static_cast<double>(got.data()[i]) - right.data()[i]) < 1e-6);
}

TEST_CASE("AT11 very negative scores are a uniform average") {
  const auto far = mt::full<double>({2, 1}, -1e9), one = mt::ones<double>({1, 1});
  check_close(mt::attention(one, far, tensor<double>({{1}, {3}}), {.scale = 1}), tensor<double>({{2}}), 0);
}

TEST_CASE("operands that do not fit") {
  CHECK_THROWS_WITH(mt::attention(q3, spread({3, 4}), v3), Catch::Contains("attention") && Catch::Contains("[3, 4]"));
  CHECK_THROWS_AS(mt::attention(spread({3, 2, 2}), spread({2, 2, 2}), spread({2, 2, 2})), mt::ShapeError);
}
