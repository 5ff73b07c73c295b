// SPDX-License-Identifier: Apache-2.0
// Codes of any width on the device, one after another.
#pragma once

#include <cstdint>

#include "nibble/core/dtype.h"
#include "nibble/cuda/device.h"

namespace nibble::cuda {

// core/bit_packing.h's bytes from codes of their own type, and back.
void pack_codes(const void* codes, DType type, int bits, std::int64_t count, void* packed,
                const Place& place);
void unpack_codes(const void* packed, int bits, std::int64_t count, void* codes, DType type,
                  const Place& place);

}  // namespace nibble::cuda
