// Fused attention and its gradient against the plain formula in double: masks, groups, both alignments, four scalars, each path.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <minitorch/kernels/attention.hpp>
#include <minitorch/kernels/attention_backward.hpp>
#include <tests/catch.hpp>
#include <tests/kernels/paths.hpp>

namespace mt = minitorch;
namespace k = minitorch::kernels;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// Operands and results of one problem, [batch, heads, rows, width] each.
template <class T>
struct Problem {
  k::Attention a;
  std::vector<T> q, key, v, dout, out, dq, dk, dv;
  std::vector<mt::compute_t<T>> lse;

  static std::vector<T> numbers(std::int64_t n, std::uint64_t state) {
    std::vector<T> x;
    for (std::int64_t i = 0; i < n; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      x.push_back(static_cast<T>(static_cast<double>(state >> 40) * 0x1p-23 - 1));
    }
    return x;
  }

  explicit Problem(const k::Attention& attention) : a(attention) {
    q = numbers(a.batch * a.heads * a.queries * a.head_dim, 1);
    key = numbers(a.batch * a.kv_heads * a.keys * a.head_dim, 2);
    v = numbers(a.batch * a.kv_heads * a.keys * a.value_dim, 3);
    dout = numbers(a.batch * a.heads * a.queries * a.value_dim, 4);
  }

  template <class U>
  static k::Heads<U> heads(U* data, std::int64_t count, std::int64_t rows, std::int64_t width) {
    return {data, count * rows * width, rows * width, width};
  }

  void run() {
    out.assign(dout.size(), T(7));
    dq.assign(q.size(), T(7));
    dk.assign(key.size(), T(7));
    dv.assign(v.size(), T(7));
    lse.assign(static_cast<std::size_t>(a.batch * a.heads * a.queries), 7);
    const auto hq = heads<const T>(q.data(), a.heads, a.queries, a.head_dim),
               hk = heads<const T>(key.data(), a.kv_heads, a.keys, a.head_dim);
    const auto hv = heads<const T>(v.data(), a.kv_heads, a.keys, a.value_dim),
               hd = heads<const T>(dout.data(), a.heads, a.queries, a.value_dim);
    k::attention<T>(a, hq, hk, hv, heads(out.data(), a.heads, a.queries, a.value_dim), lse.data());
    k::attention_backward<T>(a, hq, hk, hv, heads<const T>(out.data(), a.heads, a.queries, a.value_dim), lse.data(), hd,
                             heads(dq.data(), a.heads, a.queries, a.head_dim), heads(dk.data(), a.kv_heads, a.keys, a.head_dim),
                             heads(dv.data(), a.kv_heads, a.keys, a.value_dim));
  }

  // The plain formula, in double.
  Problem<double> reference() const {
    Problem<double> r(a);
    const auto widen = [](const std::vector<T>& x) {
      std::vector<double> y;
      for (T e : x) y.push_back(static_cast<double>(e));
      return y;
    };
    r.q = widen(q), r.key = widen(key), r.v = widen(v), r.dout = widen(dout);
    r.out.assign(dout.size(), 0), r.dq.assign(q.size(), 0), r.dk.assign(key.size(), 0), r.dv.assign(v.size(), 0);
    const std::int64_t d = a.head_dim, w = a.value_dim;
    for (std::int64_t b = 0; b < a.batch; ++b)
      for (std::int64_t h = 0; h < a.heads; ++h)
        for (std::int64_t i = 0; i < a.queries; ++i) {
          const std::int64_t row = (b * a.heads + h) * a.queries + i, head = (b * a.kv_heads + h / (a.heads / a.kv_heads)) * a.keys;
          const double *rq = r.q.data() + row * d, *rd = r.dout.data() + row * w;
          double *ro = r.out.data() + row * w, *rdq = r.dq.data() + row * d;
          std::vector<double> p(static_cast<std::size_t>(a.keys), -inf);
          double max = -inf, sum = 0, dot = 0;
          for (std::size_t j = 0; j < p.size(); ++j) {
            if (!a.sees(b, h, i, static_cast<std::int64_t>(j))) continue;
            p[j] = 0;
            for (std::int64_t e = 0; e < d; ++e)
              p[j] += a.scale * rq[e] * r.key[static_cast<std::size_t>((head + static_cast<std::int64_t>(j)) * d + e)];
            max = (std::max)(max, p[j]);
          }
          if (max == -inf) {
            r.lse.push_back(-inf);
            continue;
          }
          for (double& e : p) sum += e = std::exp(e - max);
          r.lse.push_back(max + std::log(sum));
          std::vector<double> dp(p.size());
          for (std::size_t j = 0; j < p.size(); ++j) {
            p[j] /= sum;
            if (p[j] == 0) continue;
            const double* rv = r.v.data() + (head + static_cast<std::int64_t>(j)) * w;
            double* rdv = r.dv.data() + (head + static_cast<std::int64_t>(j)) * w;
            for (std::int64_t e = 0; e < w; ++e) ro[e] += p[j] * rv[e], rdv[e] += p[j] * rd[e], dp[j] += rd[e] * rv[e];
            dot += p[j] * dp[j];
          }
          for (std::size_t j = 0; j < p.size(); ++j) {
            if (p[j] == 0) continue;
            const double ds = p[j] * (dp[j] - dot) * a.scale;
            const std::int64_t at = (head + static_cast<std::int64_t>(j)) * d;
            for (std::int64_t e = 0; e < d; ++e) {
              rdq[e] += ds * r.key[static_cast<std::size_t>(at + e)];
              r.dk[static_cast<std::size_t>(at + e)] += ds * rq[e];
            }
          }
        }
    return r;
  }
};

template <class A>
double largest_difference(const std::vector<A>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), gap = x == b[i] ? 0 : std::abs(x - b[i]);
    if (!(gap <= worst)) worst = gap;
  }
  return worst;
}

template <class T>
void check_problem(const k::Attention& a) {
  constexpr double eps = std::same_as<T, double> ? 1e-13 : std::same_as<T, float> ? 4e-6 : std::same_as<T, mt::half> ? 4e-3 : 3e-2;
  Problem<T> problem(a);
  const Problem<double> want = problem.reference();
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    INFO("path " << k::isa_name(isa) << ", " << a.queries << " x " << a.keys << ", d " << a.head_dim << ", causal " << a.causal);
    problem.run();
    CHECK(largest_difference(problem.lse, want.lse) < (std::same_as<T, double> ? 1e-13 : 1e-5));
    CHECK(largest_difference(problem.out, want.out) < eps);
    CHECK(largest_difference(problem.dq, want.dq) < 2 * eps);
    CHECK(largest_difference(problem.dk, want.dk) < 8 * eps);
    CHECK(largest_difference(problem.dv, want.dv) < 8 * eps);
  }
}

template <class T>
void check_shapes() {
  check_problem<T>(
      {.batch = 2, .heads = 4, .kv_heads = 2, .queries = 33, .keys = 33, .head_dim = 16, .value_dim = 16, .scale = 0.25, .causal = true});
  check_problem<T>({.batch = 1, .heads = 2, .kv_heads = 2, .queries = 7, .keys = 300, .head_dim = 20, .value_dim = 9, .scale = 0.2});
  check_problem<T>(
      {.batch = 1, .heads = 1, .kv_heads = 1, .queries = 150, .keys = 290, .head_dim = 8, .value_dim = 8, .scale = 0.5, .causal = true});
  check_problem<T>({.batch = 1,
                    .heads = 2,
                    .kv_heads = 1,
                    .queries = 150,
                    .keys = 290,
                    .head_dim = 8,
                    .value_dim = 8,
                    .scale = 0.5,
                    .causal = true,
                    .alignment = k::CausalAlignment::bottom_right});
  check_problem<T>({.batch = 1,
                    .heads = 1,
                    .kv_heads = 1,
                    .queries = 40,
                    .keys = 30,
                    .head_dim = 8,
                    .value_dim = 8,
                    .scale = 0.5,
                    .causal = true,
                    .alignment = k::CausalAlignment::bottom_right});
  check_problem<T>({.batch = 3, .heads = 1, .kv_heads = 1, .queries = 1, .keys = 1, .head_dim = 1, .value_dim = 1, .scale = 1});
}

// The three queries, keys and values of the case table.
Problem<double> table(std::int64_t queries, bool causal, k::CausalAlignment alignment = k::CausalAlignment::top_left) {
  Problem<double> p({.batch = 1,
                     .heads = 1,
                     .kv_heads = 1,
                     .queries = queries,
                     .keys = 3,
                     .head_dim = 2,
                     .value_dim = 2,
                     .scale = std::sqrt(0.5),
                     .causal = causal,
                     .alignment = alignment});
  const std::vector<double> q = {1, 0, 0, 1, 1, 1}, dout = {1, 2, 3, 4, 5, 6};
  p.q.assign(q.begin(), q.begin() + 2 * queries);
  p.key = {1, 2, 0.5, -1, 0, 1};
  p.v = {1, 0, 0, 1, 2, 2};
  p.dout.assign(dout.begin(), dout.begin() + 2 * queries);
  return p;
}

}  // namespace

TEST_CASE("attention and its gradient, double") { check_shapes<double>(); }
TEST_CASE("attention and its gradient, float") { check_shapes<float>(); }
TEST_CASE("attention and its gradient, half") { check_shapes<mt::half>(); }
TEST_CASE("attention and its gradient, bfloat16") { check_shapes<mt::bfloat16>(); }

TEST_CASE("AT01 AT02 AT03 AT04 AT06 attention of the table") {
  for (k::Isa isa : paths()) {
    const PathLimit limit(isa);
    auto full = table(3, false);
    full.run();
    CHECK(largest_difference(full.out, {0.9047401777683999, 0.7690788531360012, 1.231375619722955, 0.6857101327939684, 1.1197500730133627,
                                        0.4297530572197677}) < 1e-14);
    auto causal = table(3, true);
    causal.run();
    CHECK(largest_difference(causal.out, {1, 0, 0.8929581985348296, 0.10704180146517044, 1.1197500730133627, 0.4297530572197677}) < 1e-14);
    CHECK(largest_difference(causal.dq, {0, 0, -0.03379399573988976, -0.2027639744393387, -1.7414904543850187, -1.4974020783192266}) <
          1e-14);
    CHECK(largest_difference(causal.dk, {-1.6926727791718603, -1.7602607706516398, -0.09763535042631687, -0.03004735894653729,
                                         1.7903081295981773, 1.7903081295981773}) < 1e-14);
    CHECK(largest_difference(causal.dv, {7.4459478598942015, 10.092320711286973, 0.6382135897172485, 0.8086730282467665, 0.9158385503885507,
                                         1.0990062604662607}) < 1e-14);
    auto top_left = table(2, true);
    top_left.run();
    CHECK(largest_difference(top_left.out, {1, 0, 0.8929581985348296, 0.10704180146517044}) < 1e-14);
    auto bottom_right = table(2, true, k::CausalAlignment::bottom_right);
    bottom_right.run();
    CHECK(largest_difference(bottom_right.out, {0.5874790008396098, 0.41252099916039026, 1.231375619722955, 0.6857101327939684}) < 1e-14);
  }
  Problem<float> one({.batch = 1, .heads = 1, .kv_heads = 1, .queries = 1, .keys = 1, .head_dim = 4, .value_dim = 4, .scale = 0.5});
  one.run();
  CHECK(one.out == one.v);
}

TEST_CASE("AT07 AT10 masks: any pattern, and rows that see nothing give 0 and gradients of 0") {
  k::Attention a{.batch = 2, .heads = 2, .kv_heads = 1, .queries = 140, .keys = 270, .head_dim = 8, .value_dim = 8, .scale = 0.4};
  std::vector<char> bits(static_cast<std::size_t>(a.batch * a.queries * a.keys));
  std::uint64_t state = 9;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bits[i] = static_cast<std::int64_t>(i) / a.keys % 5 != 3 && state >> 62 != 0;
  }
  a.mask = reinterpret_cast<const bool*>(bits.data());
  a.mask_batch_stride = a.queries * a.keys;
  a.mask_row_stride = a.keys;
  check_problem<double>(a);
  check_problem<float>(a);
  Problem<float> problem(a);
  problem.run();
  for (std::size_t e = 0; e < 8; ++e) {
    CHECK(problem.out[3 * 8 + e] == 0);
    CHECK(problem.dq[3 * 8 + e] == 0);
  }
  a.causal = true;
  check_problem<float>(a);
}

TEST_CASE("AT08 NaN in keys and values that are not seen stays there") {
  for (bool causal : {true, false}) {
    std::vector<char> bits(6 * 6, 1);
    for (std::size_t i = 0; i < 6; ++i) bits[i * 6 + 4] = 0;
    k::Attention a{
        .batch = 1, .heads = 1, .kv_heads = 1, .queries = 6, .keys = 6, .head_dim = 4, .value_dim = 4, .scale = 0.5, .causal = causal};
    if (!causal) {
      a.mask = reinterpret_cast<const bool*>(bits.data());
      a.mask_row_stride = 6;
    }
    Problem<float> clean(a), dirty(a);
    for (std::size_t e = 0; e < 4; ++e) dirty.key[4 * 4 + e] = dirty.v[4 * 4 + e] = std::numeric_limits<float>::quiet_NaN();
    if (causal)  // nothing comes back from the queries that see it
      for (std::size_t e = 4 * 4; e < 6 * 4; ++e) clean.dout[e] = dirty.dout[e] = 0;
    clean.run();
    dirty.run();
    const std::size_t unaffected = causal ? 4 * 4 : 6 * 4;
    CHECK(std::memcmp(clean.out.data(), dirty.out.data(), unaffected * sizeof(float)) == 0);
    CHECK(std::memcmp(clean.dq.data(), dirty.dq.data(), unaffected * sizeof(float)) == 0);
    if (causal) CHECK(std::isnan(dirty.out[4 * 4]));
  }
}

TEST_CASE("AC07 attention gives the same bits by any number of threads") {
  const k::Attention a{
      .batch = 2, .heads = 3, .kv_heads = 3, .queries = 200, .keys = 200, .head_dim = 16, .value_dim = 16, .scale = 0.25, .causal = true};
  Problem<float> one(a), three(a);
  mt::set_num_threads(1);
  one.run();
  mt::set_num_threads(3);
  three.run();
  mt::set_num_threads(1);
  CHECK(one.out == three.out);
  CHECK(one.dq == three.dq);
  CHECK(one.dk == three.dk);
  CHECK(one.dv == three.dv);
}

TEST_CASE("attention of no queries, no keys or no batch") {
  Problem<float> no_keys({.batch = 1, .heads = 1, .kv_heads = 1, .queries = 2, .keys = 0, .head_dim = 4, .value_dim = 4, .scale = 1});
  no_keys.run();
  CHECK(no_keys.out == std::vector<float>(8));
  CHECK(no_keys.dq == std::vector<float>(8));
  Problem<float> no_queries({.batch = 1, .heads = 1, .kv_heads = 1, .queries = 0, .keys = 2, .head_dim = 4, .value_dim = 4, .scale = 1});
  no_queries.run();
  CHECK(no_queries.dk == std::vector<float>(8));
  Problem<float> no_batch({.batch = 0, .heads = 1, .kv_heads = 1, .queries = 2, .keys = 2, .head_dim = 4, .value_dim = 4, .scale = 1});
  no_batch.run();
  CHECK(no_batch.out.empty());
}
