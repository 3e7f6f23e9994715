// Splits of a product: by the right operand's columns, whose products are concatenated, and by its rows, whose products are summed.
// SPDX-License-Identifier: MIT
#include <examples/parts/split_products.hpp>

namespace examples {

namespace mt = minitorch;

const support::Part split_products_part{"split_products",
                                        "Splits of a product x w",
                                        {{"whole", "first number of the whole product"},
                                         {"columns", "columns of w in parts, products concatenated"},
                                         {"rows", "rows of w in parts, products summed"},
                                         {"columns_gradient", "gradient of w, columns in parts"},
                                         {"rows_gradient", "gradient of w, rows in parts"},
                                         {"columns_summed", "the wrong way: column products summed, first number"}}};

void SplitOptions::flags(support::Program& program) {
  program.flag("--column-parts", column_parts, "Parts that the columns of w are cut into, a divisor of 6", 1, 6);
  program.flag("--row-parts", row_parts, "Parts that the rows of w are cut into, a divisor of 4", 1, 4);
}

mt::Tensor<double> some_matrix(std::int64_t rows, std::int64_t columns) {
  const auto i = mt::arange<double>(1, static_cast<double>(rows * columns) + 1);
  return mt::no_grad([&] { return mt::tanh(1.7 * i) / i; }).reshape({rows, columns});
}

mt::Tensor<double> by_columns(const mt::Tensor<double>& x, const mt::Tensor<double>& w, int parts) {
  std::vector<mt::Tensor<double>> products;
  for (const auto& slice : mt::chunk(w, parts, 1)) products.push_back(mt::matmul(x, slice));
  return mt::concatenate(products, 1);
}

mt::Tensor<double> by_rows(const mt::Tensor<double>& x, const mt::Tensor<double>& w, int parts) {
  const auto left = mt::chunk(x, parts, 1), right = mt::chunk(w, parts, 0);
  mt::Tensor<double> sum = mt::matmul(left[0], right[0]);
  for (std::size_t i = 1; i < left.size(); ++i) sum = sum + mt::matmul(left[i], right[i]);
  return sum;
}

void split_products(support::Report& report, const SplitOptions& options) {
  const auto x = some_matrix(options.rows, options.inner);
  // The product by f, and the gradient of w of the sum of its squares.
  const auto run = [&](auto f) {
    auto w = some_matrix(options.inner, options.columns).set_requires_grad();
    const mt::Tensor<double> product = f(w);
    mt::sum(mt::square(product)).backward();
    return std::pair(product.detach(), w.grad());
  };
  const auto [whole, whole_gradient] = run([&](const auto& w) { return mt::matmul(x, w); });
  const auto [columns, columns_gradient] = run([&](const auto& w) { return by_columns(x, w, options.column_parts); });
  const auto [rows, rows_gradient] = run([&](const auto& w) { return by_rows(x, w, options.row_parts); });
  mt::Tensor<double> wrong = mt::zeros<double>({options.rows, options.columns / options.column_parts});
  for (const auto& part : mt::chunk(whole, options.column_parts, 1)) wrong = wrong + part;

  const auto difference = [](const auto& a, const auto& b) { return support::difference(numbers(a), numbers(b)); };
  report.begin(split_products_part);
  report.show("whole", whole.data()[0]);
  report.at_most("columns", difference(columns, whole), 1e-12);
  report.at_most("rows", difference(rows, whole), 1e-12);
  report.at_most("columns_gradient", difference(columns_gradient, whole_gradient), 1e-12);
  report.at_most("rows_gradient", difference(rows_gradient, whole_gradient), 1e-12);
  if (options.column_parts > 1) report.differs("columns_summed", wrong.data()[0], whole.data()[0], 1e-3);
  report.say("Shown are the largest differences from the whole product, of [3, 4] times [4, 6] in double.");
}

}  // namespace examples
