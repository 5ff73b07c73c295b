// SPDX-License-Identifier: Apache-2.0
// A tensor that an ONNX file holds, or that follows from such tensors alone.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "foreign/onnx/external_data.h"
#include "nibble/core/tensor.h"

namespace nibble::inline foreign {

// Integers that a constant was made from: number = code·step, one step for all or one for each
// index along an axis.
struct ConstantGrid {
  std::vector<float> steps;
  std::size_t axis = 0;
  int bits = 8;  // of the codes less their zero point, with a sign: 8 or 4
};

// Numbers of any float type lie as f32; 8-bit integers and int32 as they are, 4-bit ones a byte
// each, booleans as u8; all other integers as i64.
struct Constant {
  std::shared_ptr<const Tensor> tensor;
  int type = onnx::TensorProto::FLOAT;                 // as ONNX numbers its types
  std::shared_ptr<const ConstantGrid> grid = nullptr;  // null: no such integers

  const Shape& shape() const { return tensor->shape(); }
  bool is_float() const { return tensor->dtype() == DType::f32; }
};

// Types younger than the messages that are compiled in.
inline constexpr int kUint4Type = 21;
inline constexpr int kInt4Type = 22;

Constant constant_from(const onnx::TensorProto& proto, ExternalFiles& beside);

Constant constant_of(Tensor tensor);  // f32 or i64
Constant constant_of(std::span<const std::int64_t> list);

std::vector<std::int64_t> to_integers(const Constant& constant);  // throws for floats
std::vector<float> to_reals(const Constant& constant);

}  // namespace nibble::inline foreign
