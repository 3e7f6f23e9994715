// Layers of one input whose gradient is summed over ranks while the gradients of their weights are computed.
// SPDX-License-Identifier: MIT
#pragma once

// Backward runs the newest node first. For y = linear(x, W) of an Invariant x these are, from old to new:
//   finished   waits for the sum that `begun` has begun
//   weights    dy^T x and the sum of dy's rows, of every layer
//   begun      begins the sum of dx over ranks
//   linear     dx = dy W, the sum over the layers; hands dy on to `weights`
// The newest `linear` makes dx in memory that ranks share, where it becomes the sum over ranks.

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <minitorch/parallel/linear.hpp>

namespace minitorch::parallel {

namespace detail {

// value     x
// gradient  dy, when the sum that it holds is there
template <Scalar A>
Tensor<A> finished_sum(const Tensor<A>& x, const std::shared_ptr<Work>& work) {
  return record_view("finished_sum", x.detach(),
                     wrt(
                         x,
                         [](const Tensor<A>& dy, const std::shared_ptr<Work>& w) {
                           w->wait();
                           return dy;
                         },
                         work));
}

// value     x
// gradient  the sum of dy over ranks, begun and not waited for
template <Scalar A>
Tensor<A> begun_sum(const Tensor<A>& x, Communicator* comm, const std::shared_ptr<Work>& work) {
  return record_view("begun_sum", x.detach(),
                     wrt(
                         x,
                         [](const Tensor<A>& dy, Communicator* c, const std::shared_ptr<Work>& w) {
                           if (grad_enabled() || thread_state.anomaly_mode) return sum_ranks(dy, c);
                           const MemoryScope in_arena(c->memory());
                           const bool in_place = !is_narrow<A> && dy.body().exclusive();  // a narrow one was rounded into private memory
                           Tensor<A> sum = in_place ? dy : Tensor<A>::empty(dy.shape());
                           ++thread_state.collectives;
                           *w = c->start_all_reduce(dy.values(), sum.mutable_values());
                           w->keep(std::pair(dy, sum));
                           return sum;
                         },
                         comm, work));
}

// value     nobody reads it: a place in the graph, of the shape of x W^T
// gradient  dy^T x and the sum of dy's rows
// saves     x
template <Scalar A, Scalar W>
Tensor<A> weight_path(const Tensor<A>& x, const Tensor<W>& weight, const Tensor<W>& bias) {
  minitorch::detail::check_linear(x, weight, bias);
  const std::int64_t rows = x.shape().product(0, x.rank() - 1);
  Shape shape = x.shape();
  shape[x.rank() - 1] = weight.shape()[0];
  Tensor<A> path(BodyRef(new TensorBody(dtype_of<A>, shape, x.body()->buffer, x.body()->data)));
  const auto for_weight = wrt(
      weight,
      [](const Tensor<A>& dy, const Tensor<A>& input, std::int64_t m) {
        return Product<A, A>{dy, input, true, false, 1, dy.shape().back(), input.shape().back(), m};
      },
      x, rows);
  if (!bias.defined()) return record_view("linear_weights", path, for_weight);
  return record_view("linear_weights", path, for_weight,
                     wrt(bias, [](const Tensor<A>& dy) { return minitorch::detail::sum_rows(dy, dy.shape().back()); }));
}

// The product as a tensor in memory that ranks share.
template <Scalar C, Scalar A, Scalar B>
Tensor<C> product_in_arena(const Product<A, B>& product, const Shape& shape, Communicator& comm) {
  if (grad_enabled()) return materialize<A>(product, shape).template to<C>();
  const MemoryScope in_arena(comm.memory());
  Tensor<C> out = Tensor<C>::empty(shape);
  run_product(product, out.mutable_data(), false);
  return out;
}

// value     x W^T + b
// gradient  dy W; dy for the path of the weights
// saves     W
// The newest of the layers of one x makes the gradient of x. Of several layers it is a sum, as wide as sums are.
template <bool Newest, bool Several, Scalar A, Scalar W>
Tensor<A> linear_beside(const Tensor<A>& x, const Tensor<W>& weight, const Tensor<W>& bias, const Tensor<A>& path, Communicator* comm) {
  using Sum = std::conditional_t<Several, compute_t<A>, A>;
  const auto forward = [&](A* out) { minitorch::detail::linear_into(x, weight, bias, out); };
  auto product = [](const Tensor<A>& dy, const Tensor<W>& w) {
    return Product<A, W>{dy, w, false, false, 1, dy.shape().product(0, dy.rank() - 1), w.shape()[1], w.shape()[0]};
  };
  using OfInput = decltype(product);
  if constexpr (Newest)
    return record<A>("linear", path.shape(), forward,
                     wrt(
                         x,
                         [](const Tensor<A>& dy, const Tensor<W>& w, Communicator* c) {
                           Shape shape = dy.shape();
                           shape[dy.rank() - 1] = w.shape()[1];
                           return product_in_arena<Sum>(OfInput()(dy, w), shape, *c);
                         },
                         weight, comm),
                     wrt(path, pass_on));
  else
    return record<A>("linear", path.shape(), forward, wrt(x, product, weight), wrt(path, pass_on));
}

}  // namespace detail

// layers(x)... of layers that are cut by columns: Invariant -> Sharded<last> each. One all-reduce backward, of the sum of their gradients
// of x, beside the products that give the gradients of their weights.
template <Scalar A, AxisName Name, Scalar T, std::same_as<ColumnLinear<T>>... More>
std::array<Placed<A, Sharded<last>, Name>, 1 + sizeof...(More)> column_layers(const Placed<A, Invariant, Name>& x,
                                                                              const ColumnLinear<T>& first, const More&... more) {
  using Out = Placed<A, Sharded<last>, Name>;
  if (x.axis().local_shards() > 1 || x.comm().size() == 1) {
    const auto whole = replicate(x);
    return {first(whole), more(whole)...};
  }
  const auto work = std::make_shared<Work>();
  const Tensor<A> input = detail::finished_sum(x.local(), work);
  const auto bias = [](const ColumnLinear<T>& layer) { return layer.bias.defined() ? layer.bias.shards[0] : Tensor<T>{}; };
  const auto path = [&](const ColumnLinear<T>& layer) { return detail::weight_path(input, layer.weight.shards[0], bias(layer)); };
  const std::array<Tensor<A>, 1 + sizeof...(More)> paths{path(first), path(more)...};
  const Tensor<A> shared = detail::begun_sum(input, &x.comm(), work);
  constexpr std::size_t count = 1 + sizeof...(More);
  const std::array<const ColumnLinear<T>*, count> layers{&first, &more...};
  const auto output = [&]<std::size_t At>(std::integral_constant<std::size_t, At>) {
    const ColumnLinear<T>& layer = *layers[At];
    return Out(x.axis(),
               {detail::linear_beside<At + 1 == count, (count > 1)>(shared, layer.weight.shards[0], bias(layer), paths[At], &x.comm())});
  };
  return [&]<std::size_t... At>(std::index_sequence<At...>) {
    return std::array<Out, count>{output(std::integral_constant<std::size_t, At>())...};
  }
  (std::make_index_sequence<count>());
}

}  // namespace minitorch::parallel
