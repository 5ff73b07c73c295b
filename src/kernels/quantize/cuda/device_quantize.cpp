// SPDX-License-Identifier: Apache-2.0
// quantize on a GPU.
#include "nibble/kernels/device_quantize.h"

#include "kernels/quantize/check_call.h"
#include "kernels/quantize/cuda/device_layout.h"

namespace nibble::inline kernels {

std::size_t device_quantize_workspace(const Shape& shape, const Format& format,
                                      const QuantizeOptions& options) {
  if (shape.elements() == 0) return 0;
  return layout_of(shape, format, options, DeviceCall::quantize).bytes;
}

void device_quantize(DeviceArray input, DeviceArray output, const Shape& shape,
                     const Format& format, const QuantizeOptions& options, void* workspace,
                     const cuda::Place& place) {
  check_quantizable(format, options);
  check_value_types(input.dtype, output.dtype);
  if (options.compat != Compat::none) check_compat_options(format, options);
  if (shape.elements() == 0) return;
  const cuda::DeviceGuard guard(place);
  const DeviceLayout layout = layout_of(shape, format, options, DeviceCall::quantize);
  const cuda::ScaleJob scales =
      prepare_scales(layout, input, shape, format, options, {}, workspace, place);
  round_on_device(layout, input, output, {}, scales, shape, format, options, workspace, place);
}

}  // namespace nibble::inline kernels
