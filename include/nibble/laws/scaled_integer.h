// SPDX-License-Identifier: Apache-2.0
// A number as an integer and a power of two: what integer training multiplies by.
#pragma once

#include <cstdint>

namespace nibble::inline laws {

// mantissa · 2^exponent
struct ScaledInteger {
  std::int64_t mantissa = 0;
  int exponent = 0;
  bool operator==(const ScaledInteger&) const = default;
};

}  // namespace nibble::inline laws
