// SPDX-License-Identifier: Apache-2.0
// The cosine of learning-rate schedules, in integers alone.
#pragma once

#include <cstdint>

namespace nibble::inline laws {

inline constexpr int kShareBits = 30;
inline constexpr std::int64_t kWholeShare = std::int64_t{1} << kShareBits;  // 1

// (1 + cos πt) / 2 for 0 <= t <= 1, argument and result in units of 2^-30. It is within 4 units of
// the true value, exact at 0, 1/2 and 1, and what it gives for 1 - t is 1 less what it gives for t.
std::int64_t half_cosine(std::int64_t t);

}  // namespace nibble::inline laws
