// SPDX-License-Identifier: Apache-2.0
// A batch of examples laid out for products, in memory whose filling is zeros already.
#pragma once

#include <cstdint>
#include <span>

#include "backend/cpu/block_tensor.h"

namespace nibble::inline backend {

// Bytes, image after image as (height, width, channels), become mantissas by a table of 256 entries
// for each of `channels`.
void lay_out(std::span<const std::uint8_t> bytes, std::span<const std::int8_t> tables,
             std::int64_t channels, const BlockTensor& tensor);

// Mantissas that are there already.
void lay_out(std::span<const std::int8_t> mantissas, const BlockTensor& tensor);

// The way back: image after image.
void gather(const BlockTensor& tensor, std::span<std::int8_t> mantissas);

}  // namespace nibble::inline backend
