// SPDX-License-Identifier: Apache-2.0
// The cosine of learning-rate schedules, in integers alone.
#include "laws/half_cosine.h"

#include <initializer_list>

namespace nibble::inline laws {

// cos²(x) for x = πt/2 <= π/4, with cos x = 1 - x²/2·(1 - x²/12·(1 - x²/30·(1 - x²/56·(1 -
// x²/90)))): what the series leaves out is below x^12/12! < 2^-33.
std::int64_t half_cosine(std::int64_t t) {
  constexpr std::int64_t kHalfPi = 1'686'629'713;  // π/2 in units of 2^-30
  if (t > kWholeShare / 2) return kWholeShare - half_cosine(kWholeShare - t);
  if (t == kWholeShare / 2) return kWholeShare / 2;
  const std::int64_t x = t * kHalfPi >> kShareBits;
  const std::int64_t square = x * x >> kShareBits;
  std::int64_t cosine = kWholeShare;
  for (const std::int64_t divisor : {90, 56, 30, 12, 2})
    cosine = kWholeShare - (square * cosine >> kShareBits) / divisor;
  return cosine * cosine >> kShareBits;
}

}  // namespace nibble::inline laws
