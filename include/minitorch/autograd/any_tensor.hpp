// A tensor of any element type: what hooks, state dicts and files see.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include <minitorch/autograd/body.hpp>
#include <minitorch/core/error.hpp>

namespace minitorch {

template <Element T>
class Tensor;

class AnyTensor {
 public:
  AnyTensor() = default;
  explicit AnyTensor(BodyRef body) : body_(std::move(body)) {}
  template <Element T>
  AnyTensor(const Tensor<T>& tensor);  // NOLINT: every tensor is an AnyTensor

  bool defined() const { return static_cast<bool>(body_); }
  DType dtype() const { return body_->dtype; }
  const Shape& shape() const { return body_->shape; }
  std::int64_t numel() const { return body_->shape.numel(); }
  std::int64_t bytes() const { return numel() * dtype_size(dtype()); }
  std::span<const std::byte> data() const { return {body_->data, static_cast<std::size_t>(bytes())}; }
  // The identity of the memory: tensors that share it have the same.
  const void* buffer() const { return body_->buffer.get(); }
  bool requires_grad() const { return body_ && body_->node; }
  const BodyRef& body() const { return body_; }

  // The typed tensor. Throws ArgumentError if it holds another type.
  template <Element T>
  Tensor<T> as() const;

 private:
  BodyRef body_;
};

}  // namespace minitorch
