// Eigen and tensors share memory, both ways.
// SPDX-License-Identifier: MIT
#include <minitorch/io/eigen.hpp>

#include <minitorch/autograd/autograd.hpp>
#include <tests/catch.hpp>

namespace mt = minitorch;

TEST_CASE("a tensor as a matrix") {
  auto x = mt::arange<double>(0, 24).reshape({2, 3, 4});
  const auto m = mt::eigen_map(x);
  CHECK(m.rows() == 6);
  CHECK(m.cols() == 4);
  CHECK(m.data() == x.data());
  CHECK(m(5, 1) == 21);
  mt::mutable_eigen_map(x)(0, 3) = 100;
  CHECK(x[0][0][3].item() == 100);
  CHECK(mt::eigen_map(mt::arange<float>(0, 3)).rows() == 1);
  CHECK(mt::eigen_map(mt::scalar<float>(7))(0, 0) == 7);
}

TEST_CASE("a write through a map is seen by the graph") {
  auto w = mt::tensor<double>({{1, 2}, {3, 4}});
  w.set_requires_grad();
  const auto y = mt::sum_to(mt::matmul(w, w), {});
  CHECK_THROWS_AS(mt::mutable_eigen_map(w), mt::GraphError);
  mt::no_grad([&] { mt::mutable_eigen_map(w) *= 2; });
  CHECK_THROWS_AS(y.backward(), mt::GraphError);
}

TEST_CASE("matrices as tensors: row-major as they are, column-major as their transpose") {
  mt::EigenMatrix<double> rows(2, 3);
  rows << 1, 2, 3, 4, 5, 6;
  const auto x = mt::wrap_eigen(rows);
  CHECK(x.shape() == mt::Shape{2, 3});
  CHECK(x.data() == rows.data());
  Eigen::MatrixXd columns = rows;
  const auto t = mt::wrap_eigen(columns);
  CHECK(t.shape() == mt::Shape{3, 2});
  CHECK(t.data() == columns.data());
  CHECK(t[2][1].item() == 6);
  const auto product = mt::matmul(x, t);
  CHECK(mt::eigen_map(product).isApprox(rows * columns.transpose()));
  columns(1, 2) = 60;
  CHECK(t[2][1].item() == 60);
}

TEST_CASE("a temporary matrix moves in") {
  const auto make = [] { return Eigen::MatrixXf(Eigen::MatrixXf::Constant(2, 5, 3)); };
  mt::Tensor<float> x = mt::wrap_eigen(make());
  CHECK(x.shape() == mt::Shape{5, 2});
  CHECK(x.slice(4, 5)[0][1].item() == 3);
}
