// SPDX-License-Identifier: Apache-2.0
// Looks at all numbers, several at a time, for nearly every tensor is finite.
#include "float_training/finite.h"

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "nibble/core/parallel.h"

namespace nibble::inline float_training {

bool is_finite(std::span<const float> values) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 16;
  std::atomic<bool> has_others{false};
  parallel_for(values.size(), kAtOnce, [&](std::size_t begin, std::size_t end) {
    std::uint32_t others = 0;
    for (std::size_t i = begin; i < end; ++i) others |= std::isfinite(values[i]) ? 0U : 1U;
    if (others != 0) has_others = true;
  });
  return !has_others;
}

}  // namespace nibble::inline float_training
