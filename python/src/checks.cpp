// SPDX-License-Identifier: Apache-2.0
// What functions ask of their arrays.
#include "python/src/checks.h"

#include "python/src/errors.h"
#include "python/src/modules.h"

namespace nibble::python {

std::string python_name(DType dtype) {
  static constexpr const char* kNames[] = {"float32", "float64", "float16", "bfloat16",
                                           "int8",    "uint8",   "int16",   "uint16",
                                           "int32",   "uint32",  "int64",   "uint64"};
  return kNames[static_cast<std::size_t>(dtype)];
}

void check_value_type(const Array& array, Argument argument) {
  const DType type = array.dtype();
  if (type == DType::f32 || type == DType::f16 || type == DType::bf16) return;
  throw TypeMistake(argument.function, std::string(argument.name) + "'s dtype", python_name(type),
                    "float32, float16 or bfloat16");
}

void check_shape(const Array& array, const Shape& expected, Argument argument) {
  if (array.shape() == expected) return;
  throw Error(argument.function, std::string(argument.name) + "'s shape", array.shape().to_string(),
              expected.to_string());
}

void check_output_type(const Array& output, DType input, Argument argument) {
  if (output.dtype() == DType::f32 || output.dtype() == input) return;
  throw TypeMistake(argument.function, std::string(argument.name) + "'s dtype",
                    python_name(output.dtype()),
                    input == DType::f32 ? "float32" : python_name(input) + " or float32");
}

void check_same_device(const Array& input, const Array& other, Argument argument) {
  if (input.device() == other.device()) return;
  throw StateMistake(argument.function, std::string(argument.name) + "'s device",
                     device_text(other.device()), device_text(input.device()));
}

void note_written(const Array& output) {
  if (output.kind() != Array::Kind::torch) return;
  // Copies nothing: torch sees that both are one tensor, and counts a write.
  output.object().attr("copy_")(output.object());
}

std::string device_text(Device device) {
  return device.kind == Device::Kind::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

}  // namespace nibble::python
