// Data parallel training in its awkward cases: order of gradients, narrow types, skipped steps, ranks that run out of batches, a mesh.
// SPDX-License-Identifier: MIT
#include <minitorch/parallel/data_parallel.hpp>

#include <cmath>
#include <vector>

#include <minitorch/comm/launch.hpp>
#include <minitorch/comm/mesh.hpp>
#include <minitorch/nn/linear.hpp>
#include <minitorch/nn/module.hpp>
#include <minitorch/ops/dropout.hpp>
#include <minitorch/ops/mul.hpp>
#include <minitorch/ops/square.hpp>
#include <minitorch/ops/sum.hpp>
#include <minitorch/optim/grad_scaler.hpp>
#include <minitorch/optim/sgd.hpp>
#include <minitorch/parallel/transformer.hpp>

#include "../catch.hpp"

namespace mt = minitorch;
namespace mp = minitorch::parallel;

namespace {

// Two parameters a and b of T.
template <mt::Scalar T>
struct Pair {
  mt::Tensor<T> a = mt::ones<T>({3}).set_requires_grad(), b = mt::ones<T>({3}).set_requires_grad();
  template <class Visitor>
  void visit(Visitor&& v) {
    v("a", a);
    v("b", b);
  }
};

template <mt::Scalar T>
mt::Tensor<T> times(const mt::Tensor<T>& x, double factor) {
  return mt::mul(x, static_cast<mt::compute_t<T>>(factor));
}

}  // namespace

TEST_CASE("DP-04 three accumulations of 1, 10 and 100 are 111") {
  const auto sums = mt::launch(2, [](mt::Communicator& comm) {
    Pair<double> model;
    mp::DataParallel<double> parallel(model, comm);
    for (double factor : {1.0, 10.0, 100.0}) parallel.backward(mt::sum(times(model.a, factor)), factor == 100 ? 1 : 0, factor == 100);
    parallel.finish();
    return model.a.grad().values()[0];
  });
  CHECK(sums == std::vector<double>{111, 111});
}

TEST_CASE("DP-08 gradients that arrive in another order on one rank are reduced in the same") {
  const auto gradients = mt::launch(2, [](mt::Communicator& comm) {
    Pair<double> model;
    mp::DataParallel<double> parallel(model, comm, {.bucket_bytes = 8});
    // The newest operation runs first in the backward pass.
    const auto first = comm.rank() == 0 ? times(model.a, 2) : times(model.b, 3);
    const auto second = comm.rank() == 0 ? times(model.b, 3) : times(model.a, 2);
    parallel.backward(mt::sum(first) + mt::sum(second), 1);
    parallel.finish();
    return std::vector<double>{model.a.grad().values()[0], model.b.grad().values()[0], static_cast<double>(parallel.bucket_count())};
  });
  for (const auto& rank : gradients) CHECK(rank == std::vector<double>{2, 3, 2});
}

TEST_CASE("DP-13 four gradients of 40000 in half average to 40000, and small ones stay") {
  const auto gradients = mt::launch(4, [](mt::Communicator& comm) {
    Pair<mt::half> model;
    mp::DataParallel<mt::half> parallel(model, comm);
    parallel.backward(mt::sum(times(model.a, 40000)) + mt::sum(times(model.b, 6e-8)), 1);
    parallel.finish();
    return std::vector<float>{model.a.grad().values()[0], model.b.grad().values()[0]};
  });
  for (const auto& rank : gradients) {
    CHECK(rank[0] == 40000.0f);
    CHECK(rank[1] > 0.0f);
  }
}

TEST_CASE("DP-15 the norm of half gradients of 5000 is finite and right") {
  Pair<mt::half> model;
  mt::sum(times(model.a, 5000)).backward();
  CHECK(mt::optim::grad_norm(mt::nn::parameters<mt::half>(model)) == Approx(5000 * std::sqrt(3.0)));
}

TEST_CASE("DP-16 DP-18 an infinity on one rank makes all ranks skip the step") {
  const auto ends = mt::launch(2, [](mt::Communicator& comm) {
    Pair<float> model;
    mt::optim::SGD<float> sgd(model, {.lr = 0.1});
    mp::DataParallel<float> parallel(model, comm);
    mt::optim::GradScaler scaler({.any = [&](bool found) { return parallel.any_rank(found); }});
    model.a.set_grad(mt::full<float>({3}, comm.rank() == 0 ? INFINITY : 1.0f));
    const bool stepped = scaler.step(sgd);
    scaler.update();
    return std::vector<double>{stepped ? 1.0 : 0.0, scaler.scale(), static_cast<double>(model.a.values()[0])};
  });
  for (const auto& rank : ends) CHECK(rank == std::vector<double>{0, 32768, 1});
}

TEST_CASE("DP-17 ranks with five and four batches: the rank that has none left takes part with nothing") {
  const auto ends = mt::launch(2, [](mt::Communicator& comm) {
    Pair<double> model;
    mt::optim::SGD<double> sgd(model, {.lr = 0.1});
    mp::DataParallel<double> parallel(model, comm);
    const int batches = comm.rank() == 0 ? 5 : 4;
    double counted = 0;
    for (int batch = 0; parallel.any_rank(batch < batches); ++batch) {
      if (batch < batches) parallel.backward(mt::sum(mt::square(model.a)), 1);
      counted += parallel.finish().count;
      sgd.step();
      mt::nn::zero_grad(model);
    }
    return std::vector<double>{counted, model.a.values()[0]};
  });
  for (const auto& rank : ends) {
    CHECK(rank[0] == 9);
    CHECK(rank[1] == Approx(std::pow(0.8, 5)).epsilon(1e-12));  // a mean each step, whoever takes part
  }
}

TEST_CASE("DP-20 dropout of a part of the batch is the part of the whole batch's dropout") {
  mt::manual_seed(9);
  const auto whole = mt::dropout(mt::ones<double>({6, 50}), 0.5);
  const auto parts = mt::launch(2, [](mt::Communicator& comm) {
    mt::manual_seed(9);
    const mt::Scoped<&mt::ThreadState::batch> place({.first = 2 * comm.rank(), .local = 2 + 2 * comm.rank(), .total = 6});
    const auto part = mt::dropout(mt::ones<double>({2 + 2 * comm.rank(), 50}), 0.5);
    return std::vector<double>(part.values().begin(), part.values().end());
  });
  std::vector<double> joined = parts[0];
  joined.insert(joined.end(), parts[1].begin(), parts[1].end());
  CHECK(joined == std::vector<double>(whole.values().begin(), whole.values().end()));
}

TEST_CASE("TP-14 data and tensor parallel on a mesh of 2 x 2 equal one process on the whole batch") {
  const auto batch = [](std::int64_t first, std::int64_t last) {
    return mt::compute<double>("batch", {last - first, 3, 8}, [&](double* out) {
      for (std::int64_t i = 24 * first; i < 24 * last; ++i) *out++ = std::sin(static_cast<double>(i));
    });
  };
  const auto run = [&](int data, int tensor) {
    return mt::launch(data * tensor, [&](mt::Communicator& comm) {
      mt::Mesh mesh(comm, {{"data", data}, {"tensor", tensor}});
      const mp::Axis shards(mesh["tensor"], 2), samples(mesh["data"], 2);
      mt::manual_seed(8);
      mp::ParallelMLP<double> model(shards, 8, 16, 8);
      mp::DataParallel<double> parallel(model, samples);
      mt::optim::SGD<double> sgd(model, {.lr = 0.01});
      double loss = 0;
      for (int step = 0; step < 3; ++step) {
        sgd.zero_grad();
        for (int local = 0; local < samples.local_shards(); ++local) {
          const auto range = mp::partition(6, 2, samples.shard(local));
          const auto y = model(mp::invariant(shards, batch(range.first, range.last)));
          parallel.backward(mt::sum(mt::square(y)).local(), static_cast<double>(range.last - range.first));
        }
        loss = parallel.finish().mean();
        sgd.step();
      }
      const auto bias = model.down.bias.values();
      std::vector<double> numbers(bias.begin(), bias.end());
      numbers.push_back(loss);
      return numbers;
    });
  };
  const auto one = run(1, 1);
  for (const auto& [data, tensor] : {std::pair(1, 2), std::pair(2, 1), std::pair(2, 2)})
    for (const auto& rank : run(data, tensor)) CHECK(rank == one[0]);
}
