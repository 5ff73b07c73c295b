// SPDX-License-Identifier: Apache-2.0
// quantize, encode and decode on a GPU: the bits of nibble/kernels/quantize.h. Every call queues
// its work on the place's stream and returns; nothing is allocated, nothing waits, and a graph may
// capture it. Pointers are of that device, arrays contiguous and row-major.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nibble/cuda/device.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline kernels {

// Values: f32, f16, bf16. Codes: u8, u16, u32. Aligned to their elements.
struct DeviceArray {
  void* data = nullptr;
  DType dtype = DType::f32;
};

// Bytes of memory a call needs beside its operands, aligned to 16; 0 for most formats. It is the
// call's own until its work is done.
std::size_t device_quantize_workspace(const Shape& shape, const Format& format,
                                      const QuantizeOptions& options = {});
std::size_t device_encode_workspace(const Shape& shape, const Format& format, bool packed,
                                    const QuantizeOptions& options = {});
std::size_t device_decode_workspace(const Shape& shape, const Format& format, bool packed);

// The output is f32 or of the input's type. In place is allowed.
void device_quantize(DeviceArray input, DeviceArray output, const Shape& shape,
                     const Format& format, const QuantizeOptions& options, void* workspace,
                     const cuda::Place& place);

// As nibble::Encoded has it, in memory of the caller: device_encoded_sizes says how much.
struct DeviceEncoded {
  DeviceArray codes;              // packed: u8, the bytes of pack_codes
  bool packed = false;            // codes of less than 8 bits one after another, low bits first
  float* scales = nullptr;        // one a group; null where the format has no scaling
  std::int32_t* zeros = nullptr;  // one a group; null unless the scaling has zero points
  float* tensor_scale = nullptr;  // two_level only
};

struct DeviceEncodedSizes {
  DType code_type = DType::u8;
  std::size_t code_bytes = 0;
  Shape scales;  // meaningless unless has_scales
  bool has_scales = false;
  bool has_zeros = false;  // of the scales' shape
  bool has_tensor_scale = false;
};
DeviceEncodedSizes device_encoded_sizes(const Shape& shape, const Format& format, bool packed);

// Unlike encode, which refuses it, NaN in a format without a code for it gets some code: the call
// does not wait to see it.
void device_encode(DeviceArray input, const DeviceEncoded& encoded, const Shape& shape,
                   const Format& format, const QuantizeOptions& options, void* workspace,
                   const cuda::Place& place);

// To f32, or f64 where the format's values are not all fp32 values. Codes beyond a codebook's table
// give NaN, where decode refuses them.
void device_decode(const DeviceEncoded& encoded, DeviceArray output, const Shape& shape,
                   const Format& format, void* workspace, const cuda::Place& place);

}  // namespace nibble::inline kernels
