// SPDX-License-Identifier: Apache-2.0
// Runs of fp16 and bf16 to fp32 and back on F16C and AVX2; the bits of nibble/core/half.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nibble::avx2 {

void widen_halves(const std::uint16_t* halves, float* floats, std::size_t count);
void widen_bfloats(const std::uint16_t* bfloats, float* floats, std::size_t count);
void narrow_to_halves(std::uint16_t* halves, const float* floats, std::size_t count);
void narrow_to_bfloats(std::uint16_t* bfloats, const float* floats, std::size_t count);

}  // namespace nibble::avx2
