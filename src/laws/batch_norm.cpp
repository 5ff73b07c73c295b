// SPDX-License-Identifier: Apache-2.0
// How far sums are shifted before a batch norm.
#include "laws/batch_norm.h"

namespace nibble::inline laws {

std::vector<int> norm_sum_shifts(std::span<const std::int8_t> weight, std::size_t outputs) {
  const std::size_t depth = weight.size() / outputs;
  std::vector<int> shifts;
  for (std::size_t o = 0; o < outputs; ++o) {
    std::int64_t magnitudes = 0;
    for (const std::int8_t each : weight.subspan(o * depth, depth))
      magnitudes += each < 0 ? -each : each;
    shifts.push_back(norm_sum_shift(magnitudes));
  }
  return shifts;
}

}  // namespace nibble::inline laws
