// SPDX-License-Identifier: Apache-2.0
// Formats and matrix products on GPUs in a build without the CUDA toolkit.
#include "cuda/stub/absent.h"
#include "nibble/kernels/device_accumulate.h"
#include "nibble/kernels/device_quantize.h"

namespace nibble::inline kernels {

std::size_t device_quantize_workspace(const Shape&, const Format&, const QuantizeOptions&) {
  return 0;
}

std::size_t device_encode_workspace(const Shape&, const Format&, bool, const QuantizeOptions&) {
  return 0;
}

std::size_t device_decode_workspace(const Shape&, const Format&, bool) {
  return 0;
}

void device_quantize(DeviceArray, DeviceArray, const Shape&, const Format&, const QuantizeOptions&,
                     void*, const cuda::Place&) {
  cuda::refuse_without_cuda("quantize");
}

void device_encode(DeviceArray, const DeviceEncoded&, const Shape&, const Format&,
                   const QuantizeOptions&, void*, const cuda::Place&) {
  cuda::refuse_without_cuda("encode");
}

void device_decode(const DeviceEncoded&, DeviceArray, const Shape&, const Format&, void*,
                   const cuda::Place&) {
  cuda::refuse_without_cuda("decode");
}

std::size_t device_matmul_workspace(const Accumulator&) {
  return 0;
}

void device_matmul(const float*, const float*, float*, std::int64_t, std::int64_t, std::int64_t,
                   const Accumulator&, void*, const cuda::Place&) {
  cuda::refuse_without_cuda("matmul");
}

}  // namespace nibble::inline kernels
