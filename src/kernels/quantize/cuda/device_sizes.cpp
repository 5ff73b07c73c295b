// SPDX-License-Identifier: Apache-2.0
// How much memory an encoded array takes.
#include "core/bit_packing.h"
#include "kernels/quantize/codes.h"
#include "kernels/quantize/grouping.h"
#include "nibble/kernels/device_quantize.h"

namespace nibble::inline kernels {

DeviceEncodedSizes device_encoded_sizes(const Shape& shape, const Format& format, bool packed) {
  const int bits = describe(format.element).code_bits;
  const auto count = static_cast<std::size_t>(shape.elements());
  DeviceEncodedSizes sizes;
  sizes.code_type = packed ? DType::u8 : code_type(bits);
  sizes.code_bytes = packed ? packed_bytes(count, bits) : count * size_of(sizes.code_type);
  sizes.has_scales = format.scaling.kind != ScaleKind::none;
  if (sizes.has_scales) {
    sizes.scales = grouping_of(shape, format.scaling).scales_shape(shape, format.scaling);
  }
  sizes.has_zeros = has_zeros(format);
  sizes.has_tensor_scale = format.scaling.kind == ScaleKind::two_level;
  return sizes;
}

}  // namespace nibble::inline kernels
