// SPDX-License-Identifier: Apache-2.0
// One number under one scale: where the two halves of a format meet. This is the specification.
#pragma once

#include <cstdint>

#include "nibble/numerics/format.h"

namespace nibble::inline numerics {

struct ScaledValue {
  double element = 0;  // what is encoded, before the zero point
  double value = 0;    // what it stands for
};

// y = x / scale, exact for powers of two and fl32 otherwise; q = y rounded to the element;
// value = q · scale, fl32 likewise. A value that is already fl32(q · scale) for some q stays.
ScaledValue round_scaled(const Format& format, const GroupScale& group, double x,
                         const Rounding& rounding, Overflow overflow, std::uint32_t draw);

// Code of an element under a zero point, and back.
std::uint32_t encode_scaled(const Format& format, const GroupScale& group, double element);
double decode_scaled(const Format& format, const GroupScale& group, std::uint32_t code);

}  // namespace nibble::inline numerics
