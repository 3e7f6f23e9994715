// Products in parts.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include <examples/support/program.hpp>
#include <minitorch/minitorch.hpp>

namespace examples {

namespace mt = minitorch;

extern const support::Part split_products_part;

struct SplitOptions {
  int rows = 3, inner = 4, columns = 6;  // x [rows, inner], w [inner, columns]
  int column_parts = 3, row_parts = 2;

  void flags(support::Program& program);
};

// A matrix of numbers that are no small integers, so that the order of a sum would show.
mt::Tensor<double> some_matrix(std::int64_t rows, std::int64_t columns);

// x [m, k] times w [k, n], whose columns are cut: every part has all of x and some columns of the result.
mt::Tensor<double> by_columns(const mt::Tensor<double>& x, const mt::Tensor<double>& w, int parts);

// The same with w's rows and x's columns cut: every part has a summand of the whole result.
mt::Tensor<double> by_rows(const mt::Tensor<double>& x, const mt::Tensor<double>& w, int parts);

template <class T>
std::vector<double> numbers(const mt::Tensor<T>& x) {
  return {x.values().begin(), x.values().end()};
}

void split_products(support::Report& report, const SplitOptions& options);

}  // namespace examples
