// SPDX-License-Identifier: Apache-2.0
// How a value is stored in emitted code: as codes, integer + zero.
#pragma once

#include <algorithm>

#include "emit/c_text.h"
#include "nibble/graph/integer_bounds.h"
#include "nibble/graph/op.h"

namespace nibble::inline emit {

struct Storage {
  CType type = CType::s32;
  std::int64_t zero = 0;
};

// The smallest type of the integers themselves.
inline CType type_of(const Interval& range) {
  if (range.is_within(-128, 127)) return CType::s8;
  if (range.is_within(0, 255)) return CType::u8;
  return range.is_within(-32768, 32767) ? CType::s16 : CType::s32;
}

// A byte wherever 256 codes are enough, that of the value 0 among them: borders have it.
inline Storage storage_of(const Interval& range) {
  const Interval codes = {std::min<std::int64_t>(range.low, 0),
                          std::max<std::int64_t>(range.high, 0)};
  const CType type = type_of(range);
  if (size_of(type) > 1 && codes.high - codes.low <= 255) return {CType::u8, -codes.low};
  return {type, 0};
}

inline CType type_of_sums(const Interval& reach) {
  return reach.is_within(-kMaxInteger, kMaxInteger) ? CType::s32 : CType::s64;
}

}  // namespace nibble::inline emit
