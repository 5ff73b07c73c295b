// SPDX-License-Identifier: Apache-2.0
// Fractions of an octave, for powers of two in integers.
#pragma once

#include <cstdint>
#include <span>

namespace nibble {

// round(2^15·2^(j/256)), j < 256.
std::span<const std::uint16_t> power_table();

}  // namespace nibble
