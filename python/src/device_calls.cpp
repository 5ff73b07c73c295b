// SPDX-License-Identifier: Apache-2.0
// Calls on arrays of a GPU, queued on the current stream of its device.
#include "python/src/device_calls.h"

#include <string>

#include "nibble/kernels/device_accumulate.h"
#include "nibble/kernels/device_quantize.h"
#include "python/src/device_memory.h"

namespace nibble::python {

void quantize_on_device(const Array& input, const Array& output, const Format& format,
                        const QuantizeOptions& options) {
  constexpr std::string_view kFunction = "quantize";
  const DeviceInput from(input, kFunction);
  const DeviceOutput to(output, kFunction);
  on_device(kFunction, input, [&](const cuda::Place& place) {
    const Workspace workspace(device_quantize_workspace(input.shape(), format, options), input);
    device_quantize(from.array(), to.array(), input.shape(), format, options, workspace.data(),
                    place);
  });
  to.finish();
}

void matmul_on_device(const Array& a, const Array& b, const Array& output,
                      const Accumulator& accumulator) {
  constexpr std::string_view kFunction = "matmul";
  const DeviceInput left(a, kFunction, DeviceInput::Type::f32);
  const DeviceInput right(b, kFunction, DeviceInput::Type::f32);
  const DeviceOutput to(output, kFunction);
  const auto floats = [](const DeviceArray& array) { return static_cast<float*>(array.data); };
  on_device(kFunction, a, [&](const cuda::Place& place) {
    const Workspace workspace(device_matmul_workspace(accumulator), a);
    device_matmul(floats(left.array()), floats(right.array()), floats(to.array()), a.shape()[0],
                  a.shape()[1], b.shape()[1], accumulator, workspace.data(), place);
  });
  to.finish();
}

}  // namespace nibble::python
