// SPDX-License-Identifier: Apache-2.0
// Exact scalar conversions between float and the bits of IEEE half and bfloat16.
#pragma once

#include <cstdint>

namespace nibble::inline core {

// Every half is a float. A signaling NaN becomes quiet, as F16C does it.
float float_from_half(std::uint16_t half);

// To nearest, ties to even; from 65520 on infinity. A NaN is quiet and keeps its top payload bits.
std::uint16_t half_from_float(float value);

// The upper half of a float: a shift, bits unchanged.
float float_from_bfloat(std::uint16_t bfloat);

// To nearest, ties to even, overflow to infinity. A NaN is quiet and keeps its top payload bits.
std::uint16_t bfloat_from_float(float value);

}  // namespace nibble::inline core
