// The part of a node that knows the type of its result: how gradients arrive, add up and are taken.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <type_traits>
#include <utility>

#include <minitorch/autograd/check_finite.hpp>
#include <minitorch/autograd/engine_ops.hpp>
#include <minitorch/autograd/lazy.hpp>
#include <minitorch/autograd/tensor.hpp>
#include <minitorch/kernels/map.hpp>

namespace minitorch {

// Narrow gradients are added up in float and rounded once. Outside create_graph everything is added in place.
template <Scalar T>
class GradNode : public Node {
 public:
  using Wide = compute_t<T>;

  const char* name() const override { return name_; }
  const Shape& shape() const override { return shape_; }

  // The gradient that stays: of a leaf, or of a result whose gradient is retained.
  const BodyRef& total() const { return total_; }
  void set_total(BodyRef gradient) { total_ = std::move(gradient); }
  // From now on a leaf's first gradient is written to this memory, Wides of its shape; without a body to memory of its own again.
  void set_destination(BodyRef memory) { extras().destination = std::move(memory); }
  const BodyRef& destination() { return extras().destination; }

  // --- contributions, called by rules through the engine ---
  template <Scalar U>
  requires std::same_as<U, T> || std::same_as<U, Wide>
  void accumulate(const Tensor<U>& gradient) {
    if (slot() && gradient.defined() && gradient.shape() == shape_ && !thread_state.grad_enabled) return add_in_place(gradient);
    accumulate(Tensor<U>(gradient));
  }
  template <Scalar U>
  requires std::same_as<U, T> || std::same_as<U, Wide>
  void accumulate(Tensor<U>&& gradient) {
    if (!gradient.defined()) return;
    if (!(gradient.shape() == shape_)) gradient = sum_to(gradient, shape_);
    if (thread_state.grad_enabled) return add_recorded(std::move(gradient));
    BodyRef& slot = this->slot();
    if (slot) return add_in_place(gradient);
    bool takes_over = !direct_;
    if constexpr (std::same_as<U, Wide>) takes_over |= gradient.body().exclusive() && !has_destination();
    slot = takes_over ? std::move(gradient).release_body() : copy_of(gradient, first_total());
  }

  template <Scalar A, Scalar B>
  void accumulate(const Product<A, B>& product) {
    if (thread_state.grad_enabled) return accumulate(materialize<T>(product, shape_));
    if (!slot()) {
      if (direct_) {
        slot() = multiply<Wide>(product, first_total());
      } else if (pending_ > 1) {  // more will be added: stays wide
        slot() = multiply<Wide>(product, memory<Wide>());
      } else {
        slot() = multiply<T>(product, memory<T>());
      }
      return;
    }
    run_product(product, writable_slot(), true);
  }

  template <Scalar U>
  void accumulate(const Placement<U>& placement) {
    if (thread_state.grad_enabled) return accumulate(materialize(placement, shape_));
    const Shape& piece = placement.piece.shape();
    const std::int64_t outer = shape_.product(0, placement.dim), inner = shape_.product(placement.dim + 1, shape_.rank());
    const std::int64_t length = piece[placement.dim] * inner, stride = shape_[placement.dim] * inner;
    Wide* to = writable_slot() + placement.start * inner;
    const U* from = placement.piece.data();
    for (std::int64_t o = 0; o < outer; ++o, to += stride, from += length)
      kernels::map(
          length, [](auto a, auto b) { return a + b; }, to, static_cast<const Wide*>(to), from);
  }

  template <Scalar U>
  void accumulate(const RowScatter<U>& scatter) {
    if (thread_state.grad_enabled) return accumulate(materialize(scatter, shape_));
    const std::int64_t width = scatter.rows.shape().back();
    Wide* to = writable_slot();
    const U* row = scatter.rows.data();
    for (std::int64_t target : scatter.index.values()) {
      kernels::map(
          width, [](auto a, auto b) { return a + b; }, to + target * width, static_cast<const Wide*>(to + target * width), row);
      row += width;
    }
  }

  // --- hooks of the tensor ---
  using Hook = std::function<Tensor<T>(const Tensor<T>&)>;
  void add_hook(Hook hook) {
    extras().hooks.push_back(std::move(hook));
    has_hooks_ = true;
  }
  void add_after_hook(std::function<void()> hook) {
    extras().after_accumulate.push_back(std::move(hook));
    has_after_hooks_ = true;
  }
  void retain_grad() {
    extras().retain = true;
    has_hooks_ = true;
  }

 protected:
  GradNode(const char* name, const Shape& shape) : shape_(shape), name_(name) {}

  // The whole gradient of this pass, in the type of the result.
  Tensor<T> take_gradient() {
    if constexpr (is_narrow<T>) {
      if (grad_->dtype != dtype_of<T>) return Tensor<Wide>(std::move(grad_)).template to<T>();
    }
    return Tensor<T>(std::move(grad_));
  }

  void finish() override {
    Tensor<T> gradient = take_gradient();
    if (extras_ != nullptr) {
      std::size_t left = extras_->hooks.size();  // a hook may register another: from the next pass on
      for (auto hook = extras_->hooks.begin(); left > 0; ++hook, --left) {
        Tensor<T> replaced = (*hook)(gradient);
        if (!replaced.defined()) continue;
        if (!(replaced.shape() == shape_))
          fail<ShapeError>("hook: the gradient of a tensor of shape ", shape_, " was replaced by one of shape ", replaced.shape());
        gradient = std::move(replaced);
      }
      if (extras_->retain) settle(gradient);
    }
    grad_ = std::move(gradient).release_body();
  }

  void after_accumulate() override {
    std::size_t left = extras_->after_accumulate.size();
    for (auto hook = extras_->after_accumulate.begin(); left > 0; ++hook, --left) (*hook)();
  }

  void check_gradient(const char* source) const override {
    const BodyRef& gradient = direct_ ? total_ : grad_;
    if (gradient) check_finite(concat("the gradient from ", source), AnyTensor(gradient));
  }

  bool has_total() const override { return static_cast<bool>(total_); }
  void drop_total() override { total_.reset(); }

  // Adds a whole gradient to the one that stays.
  void settle(Tensor<T> gradient) {
    BodyRef arriving = std::exchange(grad_, {});
    const bool was_direct = direct_;
    direct_ = true;
    accumulate(std::move(gradient));
    direct_ = was_direct;
    grad_ = std::move(arriving);
  }

 private:
  struct Extras {
    std::list<Hook> hooks;
    std::list<std::function<void()>> after_accumulate;
    BodyRef destination;
    bool retain = false;
  };

  Extras& extras() {
    if (extras_ == nullptr) extras_ = std::make_unique<Extras>();
    return *extras_;
  }

  BodyRef& slot() { return direct_ ? total_ : grad_; }

  template <Scalar U>
  BodyRef memory() const {
    return Tensor<U>::empty(shape_).release_body();
  }
  bool has_destination() const { return extras_ != nullptr && extras_->destination; }
  // Where a gradient that stays is first written to.
  BodyRef first_total() const {
    if (!has_destination()) return memory<Wide>();
    extras_->destination->buffer->bump_version();
    return extras_->destination;
  }

  template <Scalar From>
  static BodyRef copy_of(const Tensor<From>& from, BodyRef to) {
    kernels::map(
        from.numel(), [](auto x) { return x; }, reinterpret_cast<Wide*>(to->data), from.data());
    return to;
  }

  // Where to add: zeros if nothing has arrived, widened if narrow. A leaf's gradient is added to where it lies (not if it is itself part
  // of a graph, after create_graph); an inner one only if nobody else holds it.
  Wide* writable_slot() {
    BodyRef& slot = this->slot();
    if (!slot) {
      BodyRef zeros = direct_ ? first_total() : memory<Wide>();
      std::fill_n(reinterpret_cast<Wide*>(zeros->data), shape_.numel(), Wide(0));
      slot = std::move(zeros);
    } else if (slot->dtype != dtype_of<Wide>) {
      slot = copy_of(Tensor<T>(slot), memory<Wide>());
    } else if (direct_ ? static_cast<bool>(slot->node) : !slot.exclusive()) {
      slot = copy_of(Tensor<Wide>(slot), memory<Wide>());
    }
    slot->buffer->bump_version();
    return reinterpret_cast<Wide*>(slot->data);
  }

  template <Scalar U>
  void add_in_place(const Tensor<U>& gradient) {
    Wide* sum = writable_slot();
    kernels::map(
        gradient.numel(), [](auto a, auto b) { return a + b; }, sum, static_cast<const Wide*>(sum), gradient.data());
  }

  template <Scalar U>
  void add_recorded(Tensor<U> gradient) {
    BodyRef& slot = this->slot();
    if (!slot) {
      if constexpr (!std::same_as<U, Wide>) {
        if (direct_) slot = gradient.template to<Wide>().body();
      }
      if (!slot) slot = std::move(gradient).release_body();
      return;
    }
    Tensor<Wide> total;
    if (slot->dtype == dtype_of<Wide>)
      total = Tensor<Wide>(slot);
    else
      total = Tensor<T>(slot).template to<Wide>();
    slot = add(total, gradient.template to<Wide>()).body();
  }

  template <Scalar C, Scalar A, Scalar B>
  static BodyRef multiply(const Product<A, B>& product, BodyRef to) {
    run_product(product, reinterpret_cast<C*>(to->data), false);
    return to;
  }

  Shape shape_;
  const char* name_;
  BodyRef total_;
  std::unique_ptr<Extras> extras_;
};

namespace detail {
// The node of a tensor of scalars D.
template <Scalar D>
GradNode<D>* typed(const NodeRef& node) {
  return static_cast<GradNode<D>*>(node.get());
}
}  // namespace detail

// A tensor without history whose gradient is wanted. The gradient lives here, so that a graph may outlive the tensor.
template <Scalar T>
class Leaf final : public GradNode<T> {
 public:
  explicit Leaf(const Shape& shape) : GradNode<T>("leaf", shape) { this->is_leaf_ = true; }

 private:
  void run() override { this->settle(this->take_gradient()); }
};

}  // namespace minitorch
