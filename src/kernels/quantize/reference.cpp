// SPDX-License-Identifier: Apache-2.0
// quantize as its definition says, element by element.
#include "kernels/quantize/quantize_paths.h"

#include "nibble/core/parallel.h"
#include "numerics/scaled.h"

namespace nibble::inline kernels {

std::uint32_t draw_of(const QuantizeOptions& options, std::uint64_t element) {
  if (!options.rounding.is_stochastic()) return 0;
  const int bits = options.rounding.random_bits;
  if (bits <= 16) return static_cast<std::uint32_t>(draw16(options.random, element)) >> (16 - bits);
  return draw32(options.random, element) >> (32 - bits);
}

void quantize_by_definition(std::span<const float> input, std::span<float> output,
                            const Format& format, const Grouping& grouping,
                            const GroupScales& scales, const QuantizeOptions& options) {
  constexpr std::size_t kGrain = 4096;
  parallel_for(input.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto group = static_cast<std::size_t>(grouping.group_of(static_cast<std::int64_t>(i)));
      const ScaledValue rounded =
          round_scaled(format, scales.groups[group], static_cast<double>(input[i]),
                       options.rounding, options.overflow, draw_of(options, i));
      output[i] = static_cast<float>(rounded.value);
    }
  });
}

}  // namespace nibble::inline kernels
