// NarrowSaved: what a forward pass keeps is kept in bfloat16, and the error of that is reported.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <any>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include <minitorch/autograd/compute.hpp>
#include <minitorch/autograd/hooks.hpp>
#include <minitorch/kernels/convert.hpp>

namespace minitorch {

// While one lives, saved float and double results (not inputs and parameters, which live on anyway) are packed to half or a quarter of
// their bytes. Gradients are then those of slightly different values: within 2^-8 of the largest, relatively.
class NarrowSaved {
 public:
  struct Report {
    std::int64_t values = 0;            // packed
    std::int64_t bytes_before = 0;      // that they had
    std::int64_t bytes_after = 0;       // and have; one value saved twice counts twice
    double largest_error = 0;           // of an element, absolutely
    double largest_relative_error = 0;  // of a value: |x - packed| / |x|, Euclidean
  };

  NarrowSaved() : packer_(std::make_shared<Packer>()), scope_(packer_) {}

  const Report& report() const { return packer_->report; }

 private:
  struct Packed {
    Tensor<bfloat16> value;
    DType type;
  };
  struct Kept {
    AnyTensor value;
    std::uint32_t version;
  };

  struct Packer final : SavedHooks {
    std::any pack(const AnyTensor& value, const SavedContext& context) override {
      if (!context.is_leaf && value.dtype() == DType::f32) return narrowed<float>(value);
      if (!context.is_leaf && value.dtype() == DType::f64) return narrowed<double>(value);
      return Kept{value, value.body()->buffer->version()};
    }

    AnyTensor unpack(const std::any& ticket) override {
      if (const auto* packed = std::any_cast<Packed>(&ticket)) {
        if (packed->type == DType::f32) return converted<float>(packed->value);
        return converted<double>(packed->value);
      }
      const auto& kept = std::any_cast<const Kept&>(ticket);
      if (kept.value.body()->buffer->version() != kept.version)
        fail<GraphError>("backward: a value of shape ", kept.value.shape(), " was modified in place after it was saved");
      return kept.value;
    }

    // Outside the graph, unlike to().
    template <Scalar To, Scalar From>
    static Tensor<To> converted(const Tensor<From>& from) {
      return compute<To>("to", from.shape(), [&](To* out) { kernels::convert(from.numel(), out, from.data()); });
    }

    template <Scalar T>
    Packed narrowed(const AnyTensor& any) {
      const Tensor<T> value = any.as<T>();
      Packed packed{converted<bfloat16>(value), any.dtype()};
      double squares = 0, error_square = 0;
      for (std::int64_t i = 0; i < value.numel(); ++i) {
        const double x = static_cast<double>(value.data()[i]), error = x - static_cast<double>(packed.value.data()[i]);
        squares += x * x;
        error_square += error * error;
        report.largest_error = (std::max)(report.largest_error, std::abs(error));
      }
      if (squares > 0) report.largest_relative_error = (std::max)(report.largest_relative_error, std::sqrt(error_square / squares));
      ++report.values;
      report.bytes_before += any.bytes();
      report.bytes_after += 2 * any.numel();
      return packed;
    }

    Report report;
  };

  std::shared_ptr<Packer> packer_;
  HookScope scope_;
};

}  // namespace minitorch
