// SPDX-License-Identifier: Apache-2.0
// For tests: host arrays through the calls of a GPU.
#pragma once

#include <bit>
#include <cstring>
#include <vector>

#include "core/half.h"
#include "cuda/test_memory.h"
#include "nibble/kernels/device_quantize.h"

namespace nibble::inline kernels {

// Values in one of the types that arrays have, as bytes.
inline std::vector<std::uint8_t> bytes_as(DType type, const std::vector<float>& values) {
  std::vector<std::uint8_t> bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == DType::f32) {
      std::memcpy(bytes.data() + 4 * i, &values[i], 4);
      continue;
    }
    const std::uint16_t half =
        type == DType::f16 ? half_from_float(values[i]) : bfloat_from_float(values[i]);
    std::memcpy(bytes.data() + 2 * i, &half, 2);
  }
  return bytes;
}

inline ConstTensorView view_as(DType type, const std::vector<std::uint8_t>& bytes,
                               const Shape& shape) {
  return {reinterpret_cast<const std::byte*>(bytes.data()), type, shape};
}

struct DeviceRun {
  DType input = DType::f32;
  DType output = DType::f32;
  std::size_t offset = 0;  // elements from an aligned address
  bool in_place = false;
};

// The bytes that device_quantize gives.
inline std::vector<std::uint8_t> quantized_on_device(const std::vector<std::uint8_t>& input,
                                                     const Shape& shape, const Format& format,
                                                     const QuantizeOptions& options,
                                                     const DeviceRun& run = {}) {
  const auto count = static_cast<std::size_t>(shape.elements());
  const std::size_t in_offset = run.offset * size_of(run.input);
  const std::size_t out_offset = run.offset * size_of(run.output);
  cuda::TestMemory<std::uint8_t> from(input.size() + in_offset);
  cuda::TestMemory<std::uint8_t> to(count * size_of(run.output) + out_offset);
  cuda::check("test", cudaMemcpy(from.data() + in_offset, input.data(), input.size(),
                                 cudaMemcpyHostToDevice));
  cuda::TestMemory<std::uint8_t> workspace(device_quantize_workspace(shape, format, options));
  std::uint8_t* result = run.in_place ? from.data() + in_offset : to.data() + out_offset;
  device_quantize({from.data() + in_offset, run.input}, {result, run.output}, shape, format,
                  options, workspace.data(), {});
  std::vector<std::uint8_t> bytes(count * size_of(run.output));
  cuda::check("test", cudaMemcpy(bytes.data(), result, bytes.size(), cudaMemcpyDeviceToHost));
  return bytes;
}

// The same on the CPU.
inline std::vector<std::uint8_t> quantized_on_host(const std::vector<std::uint8_t>& input,
                                                   const Shape& shape, const Format& format,
                                                   const QuantizeOptions& options,
                                                   const DeviceRun& run = {}) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(shape.elements()) * size_of(run.output));
  quantize(view_as(run.input, input, shape),
           TensorView(reinterpret_cast<std::byte*>(bytes.data()), run.output, shape), format,
           options);
  return bytes;
}

}  // namespace nibble::inline kernels
