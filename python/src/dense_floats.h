// SPDX-License-Identifier: Apache-2.0
// The elements of an array as dense fp32.
#pragma once

#include <span>

#include "kernels/quantize/widening.h"
#include "python/src/strided.h"

namespace nibble::python {

class DenseFloats {
 public:
  explicit DenseFloats(const Array& array)
      : values_(as_floats(dense(array, gathered_), widened_)), shape_(array.shape()) {}
  ConstTensorView view() const {
    return {reinterpret_cast<const std::byte*>(values_.data()), DType::f32, shape_};
  }

 private:
  Tensor gathered_;
  Tensor widened_;
  std::span<const float> values_;
  Shape shape_;
};

}  // namespace nibble::python
